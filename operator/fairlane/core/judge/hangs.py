"""Does the canary complete its share of the requests? Far fewer while its engines are busy is a hang, without any at work it has no traffic."""

import math

from .. import clock
from . import bets, memory, shares, types

WAIT = 30.0         # seconds of evidence before anything is said
SLOWEST = 2.0       # times the reference's p99: requests of the stable that began before the evidence are completed in it, of the canary there were none
DUE = 0.5           # of the share that the routers send: all that is asked for
SHARE = 0.1         # of the budget that is for this test


def hang(known: memory.Memory, trial: types.Trial, log_threshold: float) -> memory.Finding | None:
    """Return a hang: busy without a break, and hardly anything completed. None where there is none."""
    busy = known.busy
    if busy.seconds <= WAIT + SLOWEST * known.slowest:
        return None
    log_e = _log_e(busy.canary, busy.stable, trial)
    if log_e < log_threshold:
        return None
    due = f"{trial.weight} % of the lane's requests go to it and its engines had some at work all the time"
    counts = f"the canary completed {busy.canary:.0f} requests in {clock.short(busy.seconds)}, the stable {busy.stable:.0f}"
    odds = f"were it completing half of its share, such evidence would come at most once in {shares.once_in(log_e)} rollouts"
    message = f"Hangs: {counts}, though {due}; e-value {shares.e_value(log_e)}, needs {shares.e_value(log_threshold)}: {odds}"
    rule = "completions far below the share that the routers send, requests at work"
    return memory.Finding("Hangs", message, "hangs", None, busy.canary, busy.canary + busy.stable, busy.stable, busy.canary + busy.stable, log_e, rule)


def starved(known: memory.Memory, trial: types.Trial, log_threshold: float) -> str:
    """Say that the canary gets no requests to speak of, for the last five to ten minutes; empty where it does."""
    if known.seconds <= WAIT or known.busy.seconds > 0:
        return ""
    old = known.snapshots[-2] if len(known.snapshots) > 1 else None
    before = old.counts["errors"] if old else memory.Counts(0.0, 0.0, ())
    stable, canary = known.stable.requests - before.stable, known.canary.requests - before.canary
    if _log_e(canary, stable, trial) < log_threshold:
        return ""
    spent = clock.short(known.seconds - (old.seconds if old else 0.0))
    counts = f"the canary completed {canary:.0f} requests in {spent}, the stable {stable:.0f}, though {trial.weight} % should go to it"
    return f"{counts}; its engines have none at work, so they do not arrive: is it ready, and are its pods and the router scraped?"


def _log_e(canary: float, stable: float, trial: types.Trial) -> float:
    return math.log(SHARE) + bets.log_e_starved(canary, stable, DUE * trial.weight / 100)
