"""`python -m bench.plan`: the time of `fairlane plan` for every example, each in a process of its own, beside that of `fairlane version`."""
from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import time

from fairlane.api import generated

_RUNS = 5
_PROGRAM = pathlib.Path(sys.executable).with_name("fairlane")


def main() -> int:
    """Print the medians; exit 1 where an example takes a second or longer, or is refused."""
    base = _median("version")
    print(f"{'fairlane version':45} {base:5.2f} s")
    slow = []
    for path in sorted((generated.repository() / "examples").glob("*.yaml")):
        took = _median("plan", str(path))
        print(f"{f'fairlane plan examples/{path.name}':45} {took:5.2f} s  {took / base:4.1f} times")
        slow += [path.name] if took >= 1 else []
    return 1 if slow else 0


def _median(*arguments: str) -> float:
    """Seconds of the middle one of some runs, after one that compiles."""
    _seconds(*arguments)
    return statistics.median(_seconds(*arguments) for _ in range(_RUNS))


def _seconds(*arguments: str) -> float:
    started = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}   # as people have it: compiled once, not each time
    subprocess.run([_PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment | {"HF_HUB_OFFLINE": "1"})
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
