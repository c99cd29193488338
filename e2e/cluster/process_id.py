"""A process that cannot be mistaken for a later one with the same number."""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessId:
    pid: int
    started: int  # clock ticks since boot

    @classmethod
    def current(cls) -> ProcessId:
        return cls(os.getpid(), _started(os.getpid()))

    def alive(self) -> bool:
        return _started(self.pid) == self.started


def _started(pid: int) -> int:
    try:
        # fields after the last parenthesis: the program's name before it may hold anything
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return -1
