"""A run on the terminal."""

from collections.abc import Sequence

import rich.console

from .. import output
from . import stats
from .results import Run, Sample

_NAMES = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E"}
_BAR = 40


def show(console: rich.console.Console, run: Run, plot: bool) -> None:
    """Print a run's numbers, by track where the router named more than one."""
    summary = stats.summarise(run.samples, run.seconds)
    console.print(_headline(summary))
    console.print(_latencies(summary))
    if summary.errors:
        console.print("Errors: " + ", ".join(f"{count} {kind}" for kind, count in summary.errors.items()))
        console.print(*_first_messages(run.samples), sep="\n", markup=False)
    tracks = stats.by_track(run.samples)
    if len(tracks) > 1:
        console.print("", _tracks(tracks, run.seconds), sep="\n")
    for metric in stats.METRICS if plot else ():
        values = stats.values(run.samples, metric)
        if values:
            console.print("", f"{_NAMES[metric]}, {len(values)} values", *bars(values), sep="\n", markup=False)


def show_comparison(console: rich.console.Console, before: Run, after: Run, comparison: stats.Comparison, plot: bool) -> None:
    """Print what became of the tail."""
    name = _NAMES[comparison.metric]
    table = output.table(name, "BEFORE", "AFTER", "CHANGE", "WANTED", "")
    for check in comparison.checks:
        cells = [_percent(value) if check.name == "errors" else _time(value) for value in (check.before, check.after)]
        change = f"x {check.after / check.before:.2f}" if check.before else "-"
        table.add_row(check.name, *cells, change, check.wanted, "[green]yes[/]" if check.held else "[red]no[/]")
    console.print(table)
    if plot:
        console.print("", *_both(stats.values(before.samples, comparison.metric), stats.values(after.samples, comparison.metric)), sep="\n", markup=False)
    few = min(len(stats.values(run.samples, comparison.metric)) for run in (before, after))
    if few < 100:
        console.print(f"Only {few} values in one run: its p99 is its maximum.")
    failed = ", ".join(check.name for check in comparison.checks if not check.held)
    console.print(f"The {name} tail narrowed." if comparison.narrowed else f"The {name} tail did not narrow: {failed}.")


def bars(values: Sequence[float]) -> list[str]:
    """A histogram with the share of values up to each edge."""
    edges = stats.edges(values)
    if not edges:
        return []
    counts = stats.histogram(values, edges)
    lines, seen = [], 0
    for edge, count in zip(edges, counts, strict=True):
        seen += count
        bar = "█" * round(count / max(counts) * _BAR)
        lines.append(f"<= {_time(edge):>9}  {bar:<{_BAR}}  {count:>6}  {_percent(seen / len(values)):>7}")
    return lines


def _both(before: Sequence[float], after: Sequence[float]) -> list[str]:
    """The shares of both runs up to the same edges."""
    edges = stats.edges([*before, *after])
    lines = [f"{'':>12}  {'share of requests up to it, before':<{_BAR}}  after"]
    for edge in edges:
        shares = [sum(value <= edge for value in values) / len(values) for values in (before, after)]
        drawn = [f"{'█' * round(share * 20):<20} {_percent(share):>7}" for share in shares]
        lines.append(f"<= {_time(edge):>9}  {drawn[0]:<{_BAR}}  {drawn[1]}")
    return lines


def _headline(summary: stats.Summary) -> str:
    rate = summary.requests / summary.seconds if summary.seconds else 0.0
    tokens = summary.output_tokens / summary.seconds if summary.seconds else 0.0
    waited = f", {summary.refused} times 429 waited out" if summary.refused else ""
    return f"{summary.requests} requests in {summary.seconds:.1f} s ({rate:.1f}/s, {tokens:.0f} tokens/s), {summary.failed} failed{waited}"


def _latencies(summary: stats.Summary) -> rich.console.RenderableType:
    table = output.table("", "COUNT", "P50", "P95", "P99", "MAX")
    for metric, found in summary.latencies.items():
        table.add_row(_NAMES[metric], str(found.count), *(_time(value) for value in (found.p50, found.p95, found.p99, found.max)))
    return table


def _tracks(tracks: dict[tuple[str, str, str], list[Sample]], seconds: float) -> rich.console.RenderableType:
    table = output.table("LANE", "TRACK", "REVISION", "REQUESTS", "FAILED", "TTFT P50", "TTFT P99", "E2E P99")
    for names, samples in tracks.items():
        summary = stats.summarise(samples, seconds)
        ttft, e2e = summary.latencies.get("ttft"), summary.latencies.get("e2e")
        times = [_time(ttft.p50), _time(ttft.p99)] if ttft else ["-", "-"]
        times.append(_time(e2e.p99) if e2e else "-")
        table.add_row(*(name or "-" for name in names), str(summary.requests), str(summary.failed), *times)
    return table


def _first_messages(samples: Sequence[Sample]) -> list[str]:
    first: dict[str, str] = {}
    for sample in samples:
        if not sample.ok and sample.message:
            first.setdefault(sample.kind, sample.message)
    return [f"  {kind}: {message}" for kind, message in first.items()]


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
