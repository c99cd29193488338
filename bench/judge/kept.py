"""Parts that were run are kept until what they depend on changes: a run that was interrupted goes on where it was."""

import functools
import hashlib
import os
import pathlib
import pickle
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from fairlane.core import judge

FOLDER = pathlib.Path(__file__).parents[2] / "build" / "bench-judge"
_MODULES = ("arrays", "firsts", "latencies", "parity", "peers", "product", "rule", "traffic", "trials")    # that a part runs

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def call(folder: pathlib.Path, function: Callable[_Parameters, _Result], *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
    """Return what the function returned for these arguments before; else run it."""
    name = hashlib.sha256(f"{_sources()} {function.__module__}.{function.__qualname__} {args} {kwargs}".encode()).hexdigest()
    path = folder / f"{name[:32]}.pickle"
    if path.exists():
        known: _Result = pickle.loads(path.read_bytes())
        return known
    result = function(*args, **kwargs)
    folder.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(f".{os.getpid()}")
    half.write_bytes(pickle.dumps(result))
    half.rename(path)
    return result


@functools.cache
def _sources() -> str:
    own = [pathlib.Path(__file__).with_name(f"{name}.py") for name in _MODULES]
    product = sorted(pathlib.Path(judge.__file__).parent.glob("*.py"))    # all: one that is forgotten would keep what is no longer so
    return hashlib.sha256(b"".join(path.read_bytes() for path in (*own, *product))).hexdigest()
