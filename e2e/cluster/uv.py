"""uv, which makes the Python environments; the Makefile puts it into the same folder."""
from __future__ import annotations

import sys
from pathlib import Path

from . import cache, paths
from .progress import run

VERSION = "0.13.9"


def program() -> Path:
    return cache.made("uv", VERSION, _install) / "bin/uv"


def _install(work: Path) -> None:
    log = paths.logs() / "uv.log"
    run("a Python environment for uv", [sys.executable, "-m", "venv", work], log)
    run("installing uv", [work / "bin/pip", "install", "--quiet", f"uv=={VERSION}"], log)
