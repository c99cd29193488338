"""A middleware for vLLM (--middleware faulty.OneInFive): one chat in five is answered with 500, before the engine sees it. Runs in the engine's Python."""
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
_BODY = b'{"error": {"message": "one in five", "type": "InternalServerError", "code": 500}}'


class OneInFive:
    """ASGI: counts the chats."""

    def __init__(self, app: App) -> None:
        self._app, self._chats = app, 0

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/completions"):
            self._chats += 1
            if self._chats % 5 == 0:
                await send({"type": "http.response.start", "status": 500, "headers": [(b"content-type", b"application/json")]})
                await send({"type": "http.response.body", "body": _BODY})
                return
        await self._app(scope, receive, send)
