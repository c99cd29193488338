"""The namespaces that a cluster lives in: processes, mounts and network of its own.

The kernel does the tidying: killing process 1 of a process namespace kills every process in it, and the last process takes the mounts
and the network with it, this machine's end of the interface pair too.
So no list of what was started has to be kept, nothing can be missed after a SIGKILL, and nothing of anyone else's can be hit.
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from . import paths
from .errors import ClusterError
from .progress import wait_until


def init_pid() -> int | None:
    """Process 1 of our namespaces as this machine numbers it."""
    for pid in _pids():
        command = _command(pid)
        if len(command) >= 2 and command[-2].endswith("/e2e/cluster/init.py") and command[-1] == str(paths.state()) and _number_inside(pid) == "1":
            return pid
    return None


def create() -> None:
    init = [sys.executable, "-S", "-E", str(paths.HERE / "init.py"), str(paths.state())]
    subprocess.run(
        # slave: what this machine mounts later shows inside, what is mounted inside never shows here
        ["setsid", "--fork", "unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--propagation", "slave", *init],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
    )
    wait_until("the cluster's namespaces", lambda: init_pid() is not None, 10, every=0.02)


def destroy() -> None:
    """End every process of the cluster at once."""
    pid = init_pid()
    if pid is None:
        return
    _send(pid, signal.SIGKILL)
    wait_until("the cluster's processes to end", partial(_gone, pid), 30)


def command(words: Sequence[str | Path]) -> list[str | Path]:
    """The same command, run inside."""
    return [*_nsenter(), *words]


def enter(words: Sequence[str | Path], *, input: str | None = None) -> str:  # noqa: A002
    """Run a command inside and give back what it printed."""
    done = subprocess.run(command(words), input=input, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def start(words: Sequence[str | Path], log: Path) -> None:
    """Start a daemon inside; its parent is process 1, so it lives on when this program ends."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        subprocess.run([*_nsenter(), "setsid", "--fork", *words], stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=True)


def daemon(program: str | Path, argument: str = "") -> int | None:
    """The process that runs this program inside, started by `start`; of several the one with this argument."""
    init = init_pid()
    return next((pid for pid in _pids() if init and _parent(pid) == init and _runs(_command(pid), str(program), argument)), None)


def stop(program: str | Path, argument: str = "", timeout: float = 15) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        pid = daemon(program, argument)
        if pid is None:
            return
        _send(pid, number)
        with suppress(ClusterError):
            wait_until(f"{Path(program).name} to end", partial(_gone, pid), timeout)


def _nsenter() -> list[str]:
    pid = init_pid()
    if pid is None:
        raise ClusterError("no cluster runs; start it with `make cluster`")
    # never `ip netns exec`: it mounts /sys anew and hides the cgroups from kubelet and runc
    return ["nsenter", f"--target={pid}", "--mount", "--net", "--pid", "--"]


def _gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _command(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    return []


def _runs(command: Sequence[str], program: str, argument: str) -> bool:
    return command[:1] == [program] and (not argument or argument in command)


def _status(pid: int, field: str) -> list[str]:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return line.split()[1:]
    return []


def _parent(pid: int) -> int:
    return int((_status(pid, "PPid") or ["0"])[0])


def _number_inside(pid: int) -> str:
    return (_status(pid, "NSpid") or [""])[-1]
