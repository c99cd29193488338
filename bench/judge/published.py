"""The figures by which the method was chosen: one step of an hour at 1 % false rollbacks, independent requests, 120 runs a cell.

The arrays must give them again. The hang in which nothing completes is not among them: the product waits until something should have completed.
"""

import dataclasses
import math
from collections.abc import Mapping

from . import traffic

RUNS = 120
_SIGMAS = 3.3           # once in a thousand
_SPREAD = 0.65         # relative error of a median of one run: 1.25 times the coefficient of variation, which is 0.54 at most


@dataclasses.dataclass(frozen=True)
class Median:
    """Seconds until the rollback."""

    seconds: float

    def low(self, rows: int) -> float:
        """The least that a median of so many runs shows if it is the same."""
        return self.seconds * (1 - self._error(rows)) - traffic.TICK

    def high(self, rows: int) -> float:
        """The most."""
        return self.seconds * (1 + self._error(rows)) + traffic.TICK

    def _error(self, rows: int) -> float:
        return _SIGMAS * _SPREAD * math.sqrt(1 / RUNS + 1 / rows)


@dataclasses.dataclass(frozen=True)
class Share:
    """Of the runs: those rolled back within the hour, where they are less than half."""

    value: float


def _row(*figures: float) -> Mapping[float, Median | Share]:
    """By rate; what is below 1 is a share."""
    return {rate: Share(figure) if figure < 1 else Median(figure) for rate, figure in zip((0.2, 2.0, 20.0, 200.0), figures, strict=True)}


FAIRLANE: Mapping[str, Mapping[float, Median | Share]] = {
    "p99 x 2": _row(0.0, 0.13, 1300, 175),
    "p99 x 5": _row(0.03, 2215, 310, 70),
    "slow 1 → 5 %": _row(0.06, 2050, 390, 70),
    "slow 1 → 20 %": _row(1640, 235, 85, 20),
    "errors 0.1 → 1 %": _row(0.0, 0.32, 705, 170),
    "errors 0.1 → 5 %": _row(0.25, 550, 90, 50),
    "errors 0.1 → 50 %": _row(445, 70, 40, 10),
    "hang, 60 s timeouts": _row(250, 90, 80, 70),
}
