"""The sender's process against a router that does as a test says."""

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from fairlane.core.load import document

REPOSITORY = pathlib.Path(__file__).parents[2]


class Router:
    """Keeps what came, and answers with `code`, when `free`."""

    def __init__(self) -> None:
        self.code, self.url = 200, ""
        self.free = asyncio.Event()
        self.free.set()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.open, self.most = 0, 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        self.bodies.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.times.append(time.monotonic())
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await self.free.wait()
            return web.Response(status=self.code, text="data: [DONE]\n\n")
        finally:
            self.open -= 1


class Sender:
    """A running `fairlane load`."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.process: asyncio.subprocess.Process | None = None

    def tell(self, url: str, **fields: Any) -> None:
        """Write the document as the kubelet does: whole, by a rename."""
        plain: dict[str, Any] = {
            "url": url, "lane": "chat", "model": "default", "key": "k-1", "rate": 20.0, "max_requests": 1000, "in_flight": 4,
            "prompt_tokens": (10, 20, 40), "output_tokens": (5, 6),
        }
        load = document.Load.model_validate(plain | fields)
        new = self.folder / "new"
        new.write_text(load.model_dump_json())
        new.replace(self.folder / document.KEY)

    async def start(self) -> None:
        """Start, or start again."""
        environment = os.environ | {"PYTHONPATH": "operator", "FAIRLANE_LOAD_DIR": str(self.folder), "FAIRLANE_RUN_DIR": str(self.folder)}
        command = [sys.executable, "-m", "fairlane", "load"]
        self.process = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, env=environment, stderr=asyncio.subprocess.PIPE)

    async def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what was logged."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        async with asyncio.timeout(10):
            _, said = await self.process.communicate()
        return self.process.returncode or 0, said.decode()


@pytest.fixture
async def router() -> AsyncIterator[Router]:
    made = Router()
    application = web.Application()
    application.router.add_post("/v1/completions", made.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    made.free.set()
    await runner.cleanup()


@pytest.fixture
async def sender(tmp_path: pathlib.Path) -> AsyncIterator[Sender]:
    made = Sender(tmp_path)
    yield made
    if made.process is not None and made.process.returncode is None:
        made.process.kill()
        await made.process.wait()


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Poll until the condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (another process's doing)
            await asyncio.sleep(0.02)


async def test_what_is_sent_is_marked_sized_and_never_faster_than_told(router: Router, sender: Sender) -> None:
    sender.tell(router.url, rate=20.0)
    begun = time.monotonic()
    await sender.start()
    await until(lambda: len(router.times) >= 60)
    assert (await sender.end())[0] == 0
    assert [number for number, moment in enumerate(router.times) if moment - begun < (number - 1) / 20] == []
    assert {header["x-fairlane-synthetic"] for header in router.headers} == {"k-1"}
    ids = [header["x-request-id"] for header in router.headers]
    assert (len(set(ids)), {one[:19] for one in ids}) == (len(ids), {"fairlane-synthetic-"})
    words = [body["prompt"].split() for body in router.bodies]
    assert {10 <= len(one) <= 40 for one in words} == {True}
    assert len({len(one) for one in words}) > 5, "drawn anew each time"
    assert len({tuple(one[:4]) for one in words}) == len(words), "no common beginning"
    assert {(body["model"], body["stream"], body["ignore_eos"], body["max_tokens"] in (5, 6)) for body in router.bodies} == {("default", True, True, True)}


async def test_a_full_lane_is_left_alone(router: Router, sender: Sender) -> None:
    router.code = 429
    sender.tell(router.url, rate=50.0)
    await sender.start()
    await until(lambda: len(router.times) >= 1)
    router.code = 200
    with pytest.raises(TimeoutError):
        await until(lambda: len(router.times) > 4, 2.0)     # those that were on their way
    code, said = await sender.end()
    assert (code, said.count("429")) == (0, 1), said


async def test_no_more_at_one_time_than_told(router: Router, sender: Sender) -> None:
    router.free.clear()
    sender.tell(router.url, rate=50.0, in_flight=3)
    await sender.start()
    await until(lambda: router.open == 3)
    with pytest.raises(TimeoutError):
        await until(lambda: router.most > 3, 1.0)


async def test_no_more_in_a_rollout_than_told_even_by_a_container_that_starts_again(router: Router, sender: Sender) -> None:
    sender.tell(router.url, rate=50.0, max_requests=6)
    await sender.start()
    await until(lambda: len(router.times) >= 3)
    await sender.end(signal.SIGKILL)
    sent = len(router.times)
    await sender.start()
    await until(lambda: len(router.times) > sent or json.loads((sender.folder / "sent.json").read_text())["sent"] == 6)
    with pytest.raises(TimeoutError):
        await until(lambda: len(router.times) > 6, 1.5)
    assert json.loads((sender.folder / "sent.json").read_text()) == {"key": "k-1", "sent": 6}
    sender.tell(router.url, rate=50.0, max_requests=6, key="k-2")
    await until(lambda: any(header["x-fairlane-synthetic"] == "k-2" for header in router.headers))


async def test_it_follows_what_it_is_told(router: Router, sender: Sender) -> None:
    sender.tell(router.url, rate=0.0)
    await sender.start()
    with pytest.raises(TimeoutError):
        await until(lambda: bool(router.times), 1.5)
    sender.tell(router.url, rate=50.0)
    await until(lambda: len(router.times) >= 3)
    (sender.folder / document.KEY).write_text("{")
    await until(lambda: time.monotonic() - router.times[-1] > 1.0)
    sender.tell(router.url, rate=50.0)
    seen = len(router.times)
    await until(lambda: len(router.times) > seen)
    code, said = await sender.end()
    assert (code, "cannot be read, nothing is sent" in said) == (0, True)


async def test_it_ends_at_once_with_requests_under_way(router: Router, sender: Sender) -> None:
    router.free.clear()
    sender.tell(router.url, rate=50.0)
    await sender.start()
    await until(lambda: router.open == 4)
    begun = time.monotonic()
    code, said = await sender.end()
    assert (code, "Traceback" in said, time.monotonic() - begun < 5) == (0, False, True)


async def test_a_router_that_is_away_is_tried_again(router: Router, sender: Sender) -> None:
    sender.tell("http://127.0.0.1:9", rate=50.0)
    await sender.start()
    await until(lambda: (sender.folder / "sent.json").exists())
    sender.tell(router.url, rate=50.0)
    await until(lambda: bool(router.times))
    code, said = await sender.end()
    assert (code, "lane chat answers 0 " in said) == (0, True), said


async def test_where_nothing_can_be_counted_nothing_is_sent(router: Router, sender: Sender) -> None:
    sender.tell(router.url)
    (sender.folder / "sent.json").write_text("{")
    await sender.start()
    assert sender.process is not None
    async with asyncio.timeout(20):
        assert await sender.process.wait() == 1
    assert router.times == []
