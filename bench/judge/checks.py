"""What must hold of the results."""

import math
from collections.abc import Iterator

from . import peers, published, summary, traffic, trials

QUIET = 0.05            # a peer with fewer false rollbacks in every noise is held against Fairlane
_BUDGETED = (trials.FAIRLANE, trials.ROLLOUT)
_MANY = 1000            # rollouts, from which a sample must keep the budget itself
_UNLIKELY = 0.001       # a healthy sample shows more than its slack as rarely as this
_SIGMAS = 3.3           # the same of a normal


def over_budget(results: summary.Results) -> list[str]:
    """Where healthy canaries were rolled back more often than the budget allows. Pods that differ are a limit that is stated, and not among them."""
    found = []
    for cell in results.healthy():
        if cell.noise == traffic.Noise.POD_MARKOV:
            continue
        alarms = {method: cell.methods[method].by_hour for method in _BUDGETED if method in cell.methods}
        where = f"{cell.noise} at {cell.rate:g} requests/s"
        found += [f"{where}: {method} rolled back {number} of {cell.rows} healthy canaries" for method, number in alarms.items() if number > allowed(cell.rows)]
    return found


def allowed(rows: int) -> float:
    """The budget; of few rollouts, as many as chance gives them with it."""
    return trials.RATE * rows if rows >= _MANY else slack(rows, trials.RATE)


def slack(rows: int, share: float) -> int:
    """The most of `rows` that happen with a chance of `share` each, but once in a thousand samples: the binomial's quantile."""
    chance, total, count = (1 - share) ** rows, 0.0, 0
    while total + chance < 1 - _UNLIKELY:
        total += chance
        chance *= (rows - count) / (count + 1) * share / (1 - share)
        count += 1
    return count


def unlike_published(results: summary.Results) -> list[str]:
    """The harms that are seen sooner or later than the method's published figures say, beyond the error of both samples."""
    found = []
    for cell in results.harmed():
        figure = published.FAIRLANE.get(cell.harm, {}).get(cell.rate)
        if figure is None or cell.noise != traffic.Noise.IID or cell.onset:
            continue
        seen = cell.methods[trials.FAIRLANE]
        if isinstance(figure, published.Share):
            error = _SIGMAS * math.sqrt(max(figure.value, 1 / published.RUNS) * (1 / published.RUNS + 1 / cell.rows))
            if abs(seen.by_hour / cell.rows - figure.value) > error:
                found.append(f"{cell.harm} at {cell.rate:g} requests/s: seen in {seen.by_hour} of {cell.rows} within the hour, published {figure.value:.0%}")
        elif seen.seconds is None or not figure.low(cell.rows) <= seen.seconds <= figure.high(cell.rows):
            found.append(f"{cell.harm} at {cell.rate:g} requests/s: seen after {seen.seconds} s, published {figure.seconds:g} s")
    return found


def sooner(results: summary.Results, ticks: int = trials.HOUR) -> Iterator[tuple[summary.Cell, str]]:
    """The harms that a peer sees sooner, while it rolls back fewer than one healthy canary in twenty in every noise of that rate within the time."""
    for cell in results.harmed():
        for peer in quiet(results, cell.rate, ticks):
            theirs, ours = cell.methods[peer].seconds, cell.methods[trials.FAIRLANE].seconds
            if theirs is not None and theirs <= ticks * traffic.TICK and (ours is None or theirs < ours):
                yield cell, peer


def quiet(results: summary.Results, rate: float, ticks: int = trials.HOUR) -> list[str]:
    """The peers that rarely roll back a healthy canary at this rate, whatever the noise."""
    healthy = [cell for cell in results.healthy() if cell.rate == rate and cell.noise != traffic.Noise.POD_MARKOV]
    return [peer for peer in peers.NAMES if all(cell.share(peer, ticks) < QUIET for cell in healthy)]
