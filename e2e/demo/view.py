"""What the terminal shows: a table that is drawn anew where it is one, plain lines elsewhere; never silent for ten seconds."""
from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rich.console
import rich.live
import rich.table

from .record import Sample

QUIET = 8.0  # seconds; ten is what users are promised


class View:
    """`act` heads a part, `say` prints a line for good, `show` is called as often as one likes; who waits is told what for every few seconds."""

    def __init__(self) -> None:
        self._console = rich.console.Console(highlight=False, soft_wrap=True)
        self._live: rich.live.Live | None = None
        self._began = time.monotonic()
        self._said = 0.0
        self._act = self.doing = ""
        self._closing = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="teller", daemon=True)

    @property
    def now(self) -> float:
        return time.monotonic() - self._began

    def act(self, text: str) -> None:
        self._act = f"{text} …"
        self.say(f"\n== {text}")

    def say(self, text: str) -> None:
        self.doing = self._act
        self._print(text)

    def _print(self, text: str) -> None:
        self._said = self.now
        self._console.print(text if text.startswith("\n") else f"[{self.now:5.0f} s] {text}", markup=False)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Never be silent for long while the block runs, whatever it waits for."""
        self._teller.start()
        try:
            yield
        finally:
            self._closing.set()
            self._teller.join()

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Say every few seconds that it still goes on."""
        before, self.doing = self.doing, f"{what} …"
        try:
            yield
        finally:
            self.doing = before

    def show(self, samples: Sequence[Sample], footer: str) -> None:
        """The lanes as they are now."""
        self.doing = " | ".join([*map(line, samples), footer])
        if sys.stdout.isatty():
            if self._live is None:
                self._live = rich.live.Live(console=self._console, refresh_per_second=2, transient=True)
                self._live.start()
            self._live.update(_table(samples, footer))

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _tell(self) -> None:
        while not self._closing.wait(0.5):
            if self.doing and self._live is None and self.now - self._said > QUIET:
                self._print(self.doing)


def line(sample: Sample) -> str:
    """A lane on one line."""
    canary = f", canary {sample.weight} % p99 {_seconds(sample.canary_p99)} {sample.verdict}" if sample.canary else ""
    return f"{sample.lane} {sample.phase}: p99 {_seconds(sample.stable_p99)}{canary}"


def _table(samples: Sequence[Sample], footer: str) -> rich.table.Table:
    table = rich.table.Table(caption=footer, caption_justify="left")
    for name in ("lane", "phase", "weight", "stable p99", "canary p99", "verdict", "why"):
        table.add_column(name)
    for sample in samples:
        weight, p99s = f"{sample.weight} %", (_seconds(sample.stable_p99), _seconds(sample.canary_p99))
        table.add_row(sample.lane, sample.phase, weight, *p99s, sample.verdict, sample.message[:80])
    return table


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"
