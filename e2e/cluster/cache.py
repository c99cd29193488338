"""What takes minutes to make, kept between runs: folders named by the hash of what they were made from.

A folder under its final name is complete, because it is made under another and renamed; two builds of the same thing wait for each other.
"""
from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .progress import say


def root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlane"


def key(*inputs: str | Path) -> str:
    """A hash of texts and of files' contents: a folder stands for all source files below it."""
    digest = hashlib.sha256()
    for item in inputs:
        for data in _parts(item):
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:16]


def _parts(item: str | Path) -> Iterable[bytes]:
    if isinstance(item, str):
        yield item.encode()
    elif item.is_dir():
        for path in sorted(p for p in item.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            yield path.relative_to(item).as_posix().encode()
            yield path.read_bytes()
    else:
        yield item.read_bytes()


def folder(kind: str, key: str) -> Path:
    return root() / kind / key


def has(kind: str) -> bool:
    """Any of it, of whatever version."""
    return any(not path.name.endswith(".part") for path in (root() / kind).glob("*"))


def made(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder of this kind and key; `make` fills it where it is not there yet."""
    target = folder(kind, key)
    if target.exists():
        return target
    with lock(kind):
        if target.exists():  # another build finished it while this one waited
            return target
        work = target.with_name(f"{key}.part")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        make(work)
        work.rename(target)
    return target


def prune(kind: str, keep: int) -> None:
    """Forget all but the newest, of what is made anew with every change of the source."""
    with lock(kind):
        folders = sorted((root() / kind).iterdir(), key=lambda path: path.stat().st_mtime)
        for old in folders[:-keep]:
            shutil.rmtree(old)


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One holder at a time among all processes of this user; the kernel frees it when its holder dies."""
    path = root() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        _wait(file.fileno(), name)
        yield


def _wait(descriptor: int, name: str) -> None:
    for tries in range(36_000):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tries % 100 == 0:
                say(f"waiting for another process that works on {name}")
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"another process has held {name} for an hour")
