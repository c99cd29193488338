"""The tables of docs/judge.md, written between markers."""

import itertools
import pathlib
from collections.abc import Iterable, Sequence

from . import cases, checks, peers, summary, trials
from .traffic import Noise

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "judge.md"
_NOISES = {
    Noise.IID: "independent requests",
    Noise.SHARED: "slow spells, both sides",
    Noise.BURST: "bursts",
    Noise.SHARED_BURST: "slow spells and bursts",
    Noise.LONG_BURST: "bursts over three ticks",
    Noise.POD_MARKOV: "slow spells of single pods",
}
_SHORT = {
    peers.FLAGGER: "Flagger 5", peers.FLAGGER_ONE: "Flagger 1",
    peers.ARGO: "Argo 3", peers.ARGO_ZERO: "Argo 0", peers.KAYENTA: "Kayenta",
}


def write(results: summary.Results) -> None:
    """Put them into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(filled(text, results), encoding="utf-8")


def filled(text: str, results: summary.Results) -> str:
    """Return the document with the tables of these results."""
    makers = {"false alarms": _false_alarms, "detection": _detection, "noisy detection": _noisy, "late": _late, "pass": _pass, "pods": _pods, "sooner": _sooner}
    for name, make in makers.items():
        begin, end = f"<!-- bench-judge: {name} -->\n", "<!-- end -->"
        if text.count(begin) != 1:
            raise ValueError(f"{DOCUMENT.name} has the marker {begin.strip()} {text.count(begin)} times, not once")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}{make(results)}\n{end}{rest.partition(end)[2]}"
    return text


def sooner(cell: summary.Cell, peer: str) -> str:
    """One of the harms that a peer sees sooner, in words."""
    where = f"{cell.harm} at {_rate(cell.rate)}, {_NOISES[Noise(cell.noise)]}"
    return f"{where}: {peers.NAMES[peer]} after {_seconds(cell.methods[peer])}, Fairlane after {_seconds(cell.methods[trials.FAIRLANE])}"


def _false_alarms(results: summary.Results) -> str:
    """Healthy canaries rolled back: by Fairlane in the default rollout and in a step of an hour, by the others within half an hour and an hour."""
    others = [f"{_SHORT[peer]}, 30/60 min" for peer in peers.NAMES if peer != peers.KAYENTA]
    head = ["noise, requests/s", "rollouts", "**Fairlane**, default steps", "**Fairlane**, one step 60 min", *others, _SHORT[peers.KAYENTA]]
    rows = []
    for cell in results.healthy():
        if cell.noise != Noise.POD_MARKOV:
            ours = [_percent(cell.share(method)) for method in (trials.ROLLOUT, trials.FAIRLANE)]
            theirs = [_both(cell, peer) for peer in peers.NAMES]
            rows.append([f"{_NOISES[Noise(cell.noise)]}, {cell.rate:g}", f"{cell.rows:,}", *(f"**{each}**" for each in ours), *theirs])
    return _table(head, rows)


def _both(cell: summary.Cell, peer: str) -> str:
    return _percent(cell.share(peer)) if peer == peers.KAYENTA else f"{_percent(cell.share(peer, trials.HOUR // 2))[:-2]} / {_percent(cell.share(peer))}"


def _detection(results: summary.Results) -> str:
    return _seen(results, Noise.IID)


def _noisy(results: summary.Results) -> str:
    return _seen(results, Noise.SHARED_BURST)


def _seen(results: summary.Results, noise: Noise) -> str:
    """Median time to the rollback, ours with the canary's requests by then; else the share that was rolled back within the hour."""
    cells = [cell for cell in results.harmed() if cell.noise == noise and not cell.onset]
    rates = list(dict.fromkeys(cell.rate for cell in cells))
    others, at = (peers.FLAGGER, peers.ARGO, peers.KAYENTA), ", ".join(f"{rate:g}" for rate in rates)
    head = ["harm", *(f"**Fairlane** at {_rate(rate)}" for rate in rates), *(f"{_SHORT[peer]} at {at}" for peer in others)]
    rows = []
    for harm in dict.fromkeys(cell.harm for cell in cells):
        found = [cell for cell in cells if cell.harm == harm]
        rows.append([harm, *map(_ours, found), *(", ".join(_time(cell, peer) for cell in found) for peer in others)])
    return _table(head, rows)


def _ours(cell: summary.Cell) -> str:
    served = cell.methods[trials.FAIRLANE].served
    return f"**{_time(cell, trials.FAIRLANE)}**" + ("" if served is None else f" ({served:,.0f})")


def _late(results: summary.Results) -> str:
    """Harm that begins half way between two restarts of the evidence."""
    cells = [cell for cell in results.harmed() if cell.onset]
    names = list(dict.fromkeys(cell.harm for cell in cells))
    head = ["harm", *(_rate(rate) for rate in cases.RATES[1:])]
    rows = [[name, *(_time(cell, trials.FAIRLANE) for cell in cells if cell.harm == name)] for name in names]
    return _table(head, rows)


def _pass(results: summary.Results) -> str:
    """Of healthy canaries: the share that passes in the first step, and when."""
    head = ["noise", *(_rate(rate) for rate in cases.RATES)]
    cells = {(cell.noise, cell.rate): cell for cell in results.healthy()}
    rows = []
    for noise in (*cases.NOISES, Noise.LONG_BURST):
        found = [cells[noise.value, rate] for rate in cases.RATES]
        rows.append([_NOISES[noise], *(_passed(cell) for cell in found)])
    return _table(head, rows)


def _passed(cell: summary.Cell) -> str:
    share, found = cell.share(trials.PASS), cell.methods[trials.PASS]
    return _percent(share) if found.seconds is None else f"{_percent(share)}, {_seconds(found)}"


def _pods(results: summary.Results) -> str:
    """Healthy canaries rolled back within the hour where every pod has slow spells of its own."""
    head = ["pods of the stable", *(_rate(rate) for rate in cases.POD_RATES)]
    cells = {(cell.pods, cell.rate): cell for cell in results.healthy() if cell.noise == Noise.POD_MARKOV}
    rows = [[str(pods), *(_percent(cells[pods, rate].share(trials.FAIRLANE)) for rate in cases.POD_RATES)] for pods in cases.PODS]
    return _table(head, rows)


def _sooner(results: summary.Results) -> str:
    """The harms that a peer sees sooner though it is quiet."""
    parts = []
    for ticks, time in ((trials.HOUR, "hour"), (trials.HOUR // 2, "half hour")):
        lines = [f"- {sooner(cell, peer)}" for cell, peer in checks.sooner(results, ticks)]
        parts.append(f"Within the {time}:" + (" none." if not lines else "\n\n" + "\n".join(lines)))
    return "\n\n".join(parts)


def _time(cell: summary.Cell, method: str) -> str:
    found = cell.methods[method]
    return _seconds(found) if found.seconds is not None else _percent(found.by_hour / cell.rows)


def _seconds(found: summary.Found) -> str:
    return "never" if found.seconds is None else f"{found.seconds:,.0f} s"


def _rate(rate: float) -> str:
    return f"{rate:g} requests/s"


def _percent(share: float) -> str:
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %" if value >= 0.95 else f"{value:.2g} %"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = itertools.chain([head, ["---"] * len(head)], rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
