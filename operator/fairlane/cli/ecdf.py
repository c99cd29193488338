"""Both sides' empirical distribution functions over the bucket edges, and their picture in characters. Pure."""

import math
from collections.abc import Iterator, Sequence

from ..api import status as statuses
from ..core.judge import shares

Points = tuple[tuple[float, float], ...]
"""Edges in milliseconds, rising, each with the share of the observations at or below it."""

_MARGIN = 8      # characters left of the plot: 100 % |
_STABLE, _CANARY, _BOTH, _EDGE = "o", "x", "*", ":"


def points(edges: Sequence[int], counts: Sequence[int]) -> Points:
    """One side's curve; empty where it counted nothing or the counts are not those of the edges. Of edges that are equal in milliseconds the last one holds."""
    if len(counts) != len(edges) + 1 or counts[-1] <= 0:
        return ()
    return tuple(sorted({float(edge): min(count / counts[-1], 1.0) for edge, count in zip(edges, counts, strict=False) if edge > 0}.items()))


def curves(found: statuses.Distribution) -> tuple[Points, Points]:
    """The stable's curve and the canary's."""
    return points(found.edges_ms, found.stable), points(found.edges_ms, found.canary)


def span(both: Sequence[Points], edge: float | None) -> tuple[float, float] | None:
    """The edges between which something happens, milliseconds; always with the deciding one, and never empty. None without a curve."""
    drawn = [curve for curve in both if curve]
    if not drawn:
        return None
    low = min(max((at for at, share in curve if share <= 0), default=curve[0][0]) for curve in drawn)
    high = max(min(at for at, share in curve if share >= curve[-1][1]) for curve in drawn)
    marks = [low, high] + ([edge] if edge else [])
    low, high = min(marks), max(marks)
    return (low, high) if low < high else (low / 2, high * 2)


def within(curve: Points, limits: tuple[float, float]) -> Points:
    """The part of a curve that lies in a span."""
    return tuple(point for point in curve if limits[0] <= point[0] <= limits[1])


def position(at: float, limits: tuple[float, float]) -> float:
    """Where an edge lies in a span on a logarithmic axis, 0 to 1."""
    return math.log(at / limits[0]) / math.log(limits[1] / limits[0])


def ticks(limits: tuple[float, float]) -> list[float]:
    """Round values (1, 2, 5 times a power of ten) in a span; its ends where there are fewer than two."""
    powers = range(math.floor(math.log10(limits[0])), math.ceil(math.log10(limits[1])) + 1)
    found = [value for power in powers for factor in (1, 2, 5) if limits[0] <= (value := factor * 10.0**power) <= limits[1]]
    return found if len(found) > 1 else list(limits)


def subject(metric: str, words: str) -> str:
    """What the shares are of, and what lies on the x axis."""
    things = "gaps between tokens" if metric == "itl" else "requests"
    return f"Share of {things} with {shares.NAMES.get(metric, metric)} {words} x"


def plot(found: statuses.Distribution, edge: float | None, width: int = 60, height: int = 13) -> str:
    """Draw both curves, `width` by `height` characters and the axes; `edge` is the deciding one in milliseconds. Empty where nothing was counted."""
    both = curves(found)
    limits = span(both, edge)
    if limits is None:
        return ""
    stable, canary = (set(_cells(within(curve, limits), limits, width, height)) for curve in both)
    mark = _column(edge, limits, width) if edge else None
    lines = [f"{subject(found.metric, 'up to')} (log scale)"]
    for row in range(height):
        cells = (_glyph((row, column), stable, canary, column == mark) for column in range(width))
        lines.append(f"{_label(row, height):>{_MARGIN - 1}}|{''.join(cells).rstrip()}")
    return "\n".join([*lines, *_axis(limits, width), _legend(edge)]) + "\n"


def _glyph(cell: tuple[int, int], stable: set[tuple[int, int]], canary: set[tuple[int, int]], marked: bool) -> str:
    if cell in stable:
        return _BOTH if cell in canary else _STABLE
    if cell in canary:
        return _CANARY
    return _EDGE if marked else " "


def _column(at: float, limits: tuple[float, float], width: int) -> int:
    return round(position(at, limits) * (width - 1))


def _cells(curve: Points, limits: tuple[float, float], width: int, height: int) -> Iterator[tuple[int, int]]:
    """The cells of a curve: straight between two edges, without gaps where it is steep."""
    before: tuple[int, float] | None = None
    last = None
    for at, share in curve:
        column = _column(at, limits, width)
        start, below = before or (column, share)
        for here in range(start, column + 1):
            part = (here - start) / (column - start) if column > start else 1.0
            row = round((1 - (below + (share - below) * part)) * (height - 1))
            yield from ((between, here) for between in range(row, row + 1 if last is None else max(last, row + 1)))
            last = row
        before = column, share


def _label(row: int, height: int) -> str:
    shown = {0: "100 % ", (height - 1) // 2: f"{100 - 100 * ((height - 1) // 2) / (height - 1):.0f} % ", height - 1: "0 % "}
    return shown.get(row, "")


def _axis(limits: tuple[float, float], width: int) -> Iterator[str]:
    """The line with its ticks, and their labels, those left out that would touch the one before."""
    line, labels = ["-"] * width, ""
    for value in ticks(limits):
        column, text = _column(value, limits, width), shares.seconds(float(f"{value:.3g}") / 1000)
        start = max(_MARGIN + column - len(text) // 2, 0)
        if labels and start < len(labels) + 2:
            continue
        line[column] = "+"
        labels = labels.ljust(start) + text
    yield " " * (_MARGIN - 1) + "+" + "".join(line)
    yield labels


def _legend(edge: float | None) -> str:
    marked = f"   {_EDGE} deciding edge, {shares.seconds(edge / 1000)}" if edge else ""
    return f"{' ' * _MARGIN}{_STABLE} stable   {_CANARY} canary   {_BOTH} both{marked}"
