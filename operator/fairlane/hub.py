"""A model's small files, from the hub or a folder. No failure raises: it becomes an Unknown that says what was missing."""

import os
import pathlib

import httpx

from .core.engine import modelfiles
from .core.engine.memory.unknown import Unknown

DEFAULT_ENDPOINT = "https://huggingface.co"
TIMEOUT = httpx.Timeout(5.0)          # seconds, of each request's parts
_REFUSED = {401: "it needs a token; name its Secret in spec.model.tokenSecretRef", 403: "the token may not read it; ask its owner for access"}


class _TooLarge(Exception):
    """A file has more than the limit; the message names it."""


def endpoint() -> str:
    """Return the hub's address: HF_ENDPOINT, as vLLM takes it, else huggingface.co."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE asks for silence."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


async def fetch(
    model: modelfiles.HubModel, token: str = "", at: str = "", transport: httpx.AsyncBaseTransport | None = None,
) -> modelfiles.ModelFiles | Unknown:
    """Return what the hub's files say. At most three small requests, each bounded in time and size; the weights themselves are not fetched."""
    base, source = at or endpoint(), f"{model.name} at {model.revision}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    texts: dict[str, str] = {}
    try:
        async with httpx.AsyncClient(base_url=base, headers=headers, timeout=TIMEOUT, follow_redirects=True, transport=transport) as client:
            for name in (modelfiles.CONFIG, modelfiles.INDEX):
                answer = await _get(client, f"/{model.name}/resolve/{model.revision}/{name}")
                if answer.status_code == 200:
                    texts[name] = answer.text
                elif name == modelfiles.CONFIG:
                    return Unknown(f"{name} of {source}: {_said(answer.status_code, base)}")
            single = None if modelfiles.INDEX in texts else await _size(client, f"/{model.name}/resolve/{model.revision}/{modelfiles.SINGLE}")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return Unknown(f"the hub at {base} cannot be asked for {source}: {str(error) or type(error).__name__}")
    return modelfiles.parse(texts, source, single)


def folder(path: pathlib.Path) -> modelfiles.ModelFiles | Unknown:
    """Return what the files of a model's folder say."""
    try:
        found = {name: path / name for name in (modelfiles.CONFIG, modelfiles.INDEX) if (path / name).is_file()}
        texts = {name: _text(file) for name, file in found.items()}
        weights = sum(file.stat().st_size for file in path.glob("*.safetensors")) or None
    except _TooLarge as error:
        return Unknown(str(error))
    except (OSError, UnicodeDecodeError) as error:
        return Unknown(f"{path} cannot be read: {error}")
    if not path.is_dir():
        return Unknown(f"there is no folder {path}")
    return modelfiles.parse(texts, str(path), weights)


def _text(file: pathlib.Path) -> str:
    """A file's text, of which never more than the limit is read, whatever size it says it has."""
    with file.open("rb") as opened:
        content = opened.read(modelfiles.LIMIT + 1)
    if len(content) > modelfiles.LIMIT:
        raise _TooLarge(f"{file} is larger than {modelfiles.LIMIT} bytes")
    return content.decode("utf-8")


async def _get(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """The whole answer; ValueError where it is too large."""
    async with client.stream("GET", path) as answer:
        content = b""
        async for chunk in answer.aiter_bytes():
            content += chunk
            if len(content) > modelfiles.LIMIT:
                raise ValueError(f"{path} is larger than {modelfiles.LIMIT} bytes")
        return httpx.Response(answer.status_code, content=content)


async def _size(client: httpx.AsyncClient, path: str) -> int | None:
    """The size of a large file, which the hub says before it sends it elsewhere."""
    answer = await client.head(path, follow_redirects=False)
    size = answer.headers.get("x-linked-size") or (answer.headers.get("content-length") if answer.status_code == 200 else None)
    return int(size) if size and size.isdecimal() and int(size) > 0 else None


def _said(status: int, base: str) -> str:
    return _REFUSED.get(status) or ("there is no such model, revision or file" if status == 404 else f"the hub at {base} answered {status}")
