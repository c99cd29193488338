"""The pictures of the page, as coordinates of SVG: distributions, tails, the decisions on their way. Pure."""

import dataclasses
import math
from collections.abc import Callable, Sequence

from ..api import status as statuses
from ..core.judge import shares
from . import ecdf, figures, views

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 60, 36, 14, 46      # margins
_TAIL_FLOOR = 1e-6


@dataclasses.dataclass(frozen=True)
class Tick:
    """A place on an axis and its label."""

    at: float
    label: str


@dataclasses.dataclass(frozen=True)
class Line:
    """One side's curve."""

    name: str
    points: tuple[tuple[float, float], ...]

    @property
    def path(self) -> str:
        """The points as SVG's polyline takes them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


@dataclasses.dataclass(frozen=True)
class Picture:
    """A plot: both curves, the axes, the deciding edge."""

    title: str
    x_title: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    edge: Tick | None = None


@dataclasses.dataclass(frozen=True)
class Mark:
    """One decision on the timeline."""

    x: float
    y: float
    verdict: str
    label: str


@dataclasses.dataclass(frozen=True)
class Timeline:
    """The canary's weight over the rollout, with its decisions."""

    path: str
    marks: tuple[Mark, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def distribution(evidence: statuses.EvidenceRecord) -> Picture | None:
    """Both distribution functions; None where nothing was counted."""
    return _picture(evidence, "up to", lambda share: share, _linear, (1.0, 0.75, 0.5, 0.25, 0.0))


def tail(evidence: statuses.EvidenceRecord) -> Picture | None:
    """What lies beyond each edge, on logarithmic axes; None where nothing does."""
    found = evidence.distribution
    beyond = [1 - share for curve in ecdf.curves(found) for _, share in curve if 1 - share > _TAIL_FLOOR] if found else []
    if not beyond:
        return None
    decades = max(math.ceil(-math.log10(min(beyond))), 1)
    return _picture(evidence, "over", lambda share: 1 - share, lambda share: _logarithmic(share, decades), [10.0**-power for power in range(decades + 1)])


def timeline(decisions: Sequence[statuses.Decision], started: str | None) -> Timeline | None:
    """The decisions from the rollout's start to its last one; None without any."""
    if not decisions:
        return None
    moments = [views.moment(decision.time) for decision in decisions]
    start = min([*moments, *([views.moment(started)] if started else [])])
    whole = (max(moments) - start).total_seconds() or 1.0
    at = [_across((moment - start).total_seconds() / whole) for moment in moments]
    heights = [_linear(decision.weight / 100) for decision in decisions]
    path, x = [], float(LEFT)
    for right, y in zip(at, heights, strict=True):
        path += [f"{x:.1f},{y:.1f}", f"{right:.1f},{y:.1f}"]
        x = right
    marks = tuple(Mark(x, y, str(made.verdict), str(number)) for number, (x, y, made) in enumerate(zip(at, heights, decisions, strict=True), 1))
    ends = (Tick(LEFT, "start"), Tick(_across(1.0), views.duration(max(moments) - start)))
    return Timeline(" ".join(path), marks, ends, tuple(Tick(_linear(share), f"{share:.0%}".replace("%", " %")) for share in (1.0, 0.5, 0.0)))


def _picture(
    evidence: statuses.EvidenceRecord, words: str, value: Callable[[float], float], height: Callable[[float], float | None], marks: Sequence[float]
) -> Picture | None:
    found, edge = evidence.distribution, figures.edge_ms(evidence)
    both = ecdf.curves(found) if found else ((), ())
    limits = ecdf.span(both, edge)
    if found is None or limits is None:
        return None
    lines = []
    for name, curve in zip(("stable", "canary"), both, strict=True):
        placed = [(_across(ecdf.position(at, limits)), height(value(share))) for at, share in ecdf.within(curve, limits)]
        lines.append(Line(name, tuple((x, y) for x, y in placed if y is not None)))
    x_ticks = tuple(Tick(_across(ecdf.position(at, limits)), shares.seconds(float(f"{at:.3g}") / 1000)) for at in ecdf.ticks(limits))
    y_ticks = tuple(Tick(y, f"{share * 100:g} %") for share in marks if (y := height(share)) is not None)
    mark = Tick(_across(ecdf.position(edge, limits)), evidence.edge) if edge else None
    return Picture(ecdf.subject(found.metric, words), shares.NAMES.get(found.metric, found.metric), tuple(lines), x_ticks, y_ticks, mark)


def _across(part: float) -> float:
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _linear(share: float) -> float:
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def _logarithmic(share: float, decades: int) -> float | None:
    """The height of a share on an axis from 10^-decades to 1; None for what is none."""
    if share <= _TAIL_FLOOR:
        return None
    return TOP - math.log10(share) / decades * (HEIGHT - TOP - BOTTOM)
