"""The image that a registry would give: python:3.11-slim, here Debian's own Python under that name, so that the real Dockerfile builds on it."""
from __future__ import annotations

from pathlib import Path

from . import cache, paths
from .progress import run

NAME = "docker.io/library/python:3.11-slim"
_PACKAGES = "python3,python3-venv,ca-certificates,libnuma1"  # the last is vLLM's
_EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
_SUITE = "bookworm"


def archive() -> Path:
    """Its root file system."""
    return cache.made("base", key(), _make) / "root.tar"


def key() -> str:
    return cache.key(_SUITE, _PACKAGES, *_EXCLUDED)


def _make(work: Path) -> None:
    excludes = [f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED]
    command: list[str | Path] = ["nice", "mmdebstrap", "--variant=minbase", f"--include={_PACKAGES}", *excludes, _SUITE, work / "root.tar"]
    run("a Debian root for the images", command, paths.logs() / "base.log")
