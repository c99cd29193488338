"""Long commands with a line of progress every few seconds, and nothing left behind when they are interrupted."""
from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import ClusterError

EVERY = 8.0  # seconds; ten is what users are promised


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def run(what: str, command: Sequence[str | Path], log: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run to the end, output into the log; a failure carries the log's last lines."""
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    say(f"{what} …")
    with log.open("wb") as output:
        # a session of its own, so that Ctrl-C comes to us alone and we end the whole group
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=cwd, env={**os.environ, **(env or {})}, start_new_session=True,
        )
        try:
            _follow(what, process, log, started)
        except BaseException:
            _end_group(process)
            raise
    if process.returncode:
        raise ClusterError(f"{what} failed (exit {process.returncode}), see {log}:\n{tail(log, 25)}")
    say(f"{what}: {time.monotonic() - started:.0f} s")


def wait_until(what: str, ready: Callable[[], bool], timeout: float, *, log: Path | None = None, every: float = 0.1) -> None:
    started = told = time.monotonic()
    while not ready():
        now = time.monotonic()
        if now - started > timeout:
            raise ClusterError(f"{what}: not within {timeout:.0f} s" + (f", see {log}:\n{tail(log, 15)}" if log else ""))
        if now - told > EVERY:
            say(f"{what}: waiting, {now - started:.0f} s")
            told = now
        time.sleep(every)


@contextmanager
def telling(what: str, every: float = EVERY) -> Iterator[None]:
    """Say how long it has taken, every so many seconds, for as long as the block runs."""
    started, done = time.monotonic(), threading.Event()

    def tell() -> None:
        while not done.wait(every):
            say(f"{what}: {time.monotonic() - started:.0f} s")

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def tail(log: Path, lines: int) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def _follow(what: str, process: subprocess.Popen[bytes], log: Path, started: float) -> None:
    while True:
        try:
            process.wait(EVERY)
        except subprocess.TimeoutExpired:
            last = tail(log, 1)[-100:].strip()
            say(f"{what}: {time.monotonic() - started:.0f} s" + (f" ({last})" if last else ""))
        else:
            return


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
