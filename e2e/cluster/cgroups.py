"""The cluster's control group: all pods are below one of our own name, so that what is left of them can be told from others'."""
from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from . import paths
from .progress import wait_until

_ROOT = Path("/sys/fs/cgroup")
PATH = f"/{paths.NAME}"


def hierarchies() -> list[Path]:
    """One per controller in version 1, one in all in version 2."""
    if (_ROOT / "cgroup.controllers").exists():
        return [_ROOT]
    return [path for path in _ROOT.iterdir() if (path / "cgroup.procs").exists() and not path.is_symlink()]


def create() -> None:
    """Kubelet wants its root group to be there."""
    for hierarchy in hierarchies():
        group = hierarchy / paths.NAME
        group.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):  # version 1 starts a group with none, and nothing can enter it
            if (hierarchy / name).exists():
                (group / name).write_text((hierarchy / name).read_text())


def remove() -> None:
    """Only empty groups can go: call it when the processes are gone."""
    for hierarchy in hierarchies():
        group = hierarchy / paths.NAME
        if group.exists():
            wait_until(f"control group {group} to empty", partial(_removed, group), 20)


def left() -> list[Path]:
    return [hierarchy / paths.NAME for hierarchy in hierarchies() if (hierarchy / paths.NAME).exists()]


def _removed(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):
            os.rmdir(folder)
    return not group.exists()
