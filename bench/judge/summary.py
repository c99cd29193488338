"""What many rollouts of one case come to, as results.json keeps it."""

import dataclasses
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from . import traffic, trials

FILE = pathlib.Path(__file__).parent / "results.json"
_HALF_HOUR = trials.HOUR // 2


@dataclasses.dataclass(frozen=True)
class Found:
    """What one method did in a case. Medians over all rollouts; None where it did nothing in half of them."""

    by_half_hour: int
    by_hour: int
    seconds: float | None             # from the beginning of the harm
    served: float | None              # the canary's requests by then


@dataclasses.dataclass(frozen=True)
class Cell:
    """One case."""

    harm: str
    noise: str
    rate: float
    pods: int
    onset: int                        # ticks
    rows: int
    methods: Mapping[str, Found]

    def share(self, method: str, ticks: int = trials.HOUR) -> float:
        """Of the rollouts: those in which the method acted by then (half an hour or an hour)."""
        found = self.methods[method]
        return (found.by_half_hour if ticks <= _HALF_HOUR else found.by_hour) / self.rows


@dataclasses.dataclass(frozen=True)
class Parity:
    """How often the arrays and the product's code were compared."""

    runs: int
    verdicts: int
    mismatches: int


@dataclasses.dataclass(frozen=True)
class Results:
    """All of it."""

    seed: int
    cells: Sequence[Cell]
    parity: Parity

    def healthy(self) -> list[Cell]:
        """The cells without harm."""
        return [cell for cell in self.cells if cell.harm == traffic.NONE.name]

    def harmed(self) -> list[Cell]:
        """The others."""
        return [cell for cell in self.cells if cell.harm != traffic.NONE.name]


def cell(case: trials.Case, outcomes: trials.Outcomes) -> Cell:
    """Count, and take the medians."""
    setting = case.setting
    methods = {name: _found(outcome, setting.onset) for name, outcome in outcomes.items()}
    return Cell(setting.harm.name, setting.noise.value, setting.rate, setting.pods, setting.onset, case.rows, methods)


def _found(outcome: trials.Outcome, onset: int) -> Found:
    acted = trials.by(outcome, trials.HOUR + traffic.MINUTE)
    seconds = _median(numpy.where(acted, (outcome.tick - onset) * traffic.TICK, numpy.inf))
    served = _median(numpy.where(acted, outcome.served, numpy.inf))
    return Found(int(trials.by(outcome, _HALF_HOUR).sum()), int(acted.sum()), seconds, served)


def _median(values: Any) -> float | None:
    median = float(numpy.median(values))
    return median if numpy.isfinite(median) else None


def write(results: Results) -> None:
    """Keep them."""
    text = json.dumps(dataclasses.asdict(results), indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")


def read() -> Results:
    """Return what was kept."""
    raw = json.loads(FILE.read_text(encoding="utf-8"))
    cells = [Cell(**{**each, "methods": {name: Found(**found) for name, found in each["methods"].items()}}) for each in raw["cells"]]
    return Results(raw["seed"], cells, Parity(**raw["parity"]))
