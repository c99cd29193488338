"""The judge: an anytime-valid comparison of the canary with the stable beside it, on counts of slow and failed requests since the step began.

Fail while the evidence of harm reaches steps / falseRollbackRate; Pass once no key's evidence of the contrary is short of 1 / 0.05, after half the step.
"""

import dataclasses
import math

from ...api import status
from .. import clock
from . import absorb, hangs, memory, records, shares, types, weigh

RESTART_EVERY = 300.0       # seconds from one restart of the evidence to the next: late harm is not paid for with the good numbers before it
RESTARTS = 11               # kept beside the start, the newest
LEAST_CANARY = 20           # canary requests that a Pass needs
LEAST_TIME = 0.5            # of the step that a Pass needs
LOAD_RATIOS = (0.5, 2.0)    # the canary's requests per replica over the stable's, within which a Pass is one
WARM_STABLE = 0.2           # prefix hit rate of the stable from which a cold canary is told
COLD = 0.5                  # of the stable's hit rate: a canary below it is cold
COLD_TIME = 0.25            # of the step that a cold canary gets at most
COLD_SECONDS = 300.0        # and in seconds

OBJECTIVE_MISSED = "ObjectiveMissed"    # Fail: the canary misses an objective that the stable keeps
ERRORS_WORSE = "ErrorsWorse"            # Fail: the canary fails more often than the stable
TAIL_WORSE = "TailWorse"                # Fail: more of the canary's requests are slow than of the stable's
HANGS = "Hangs"                         # Fail: the canary has requests at work and completes hardly any
PASSED = "Passed"                       # Pass: the canary is no worse in every metric
TOO_FEW = "TooFewRequests"              # Insufficient: not enough canary or no stable requests yet
CACHE_COLD = "CacheCold"                # Insufficient: the canary's prefix cache is cold, its latencies get time
BOTH_BAD = "BothBad"                    # Insufficient: both sides miss an objective
NO_HARM = "NoHarmSeen"                  # Insufficient: no harm shown, and not enough for a Pass
NO_SERIES = "NoSeries"                  # Unavailable: requests, but no vLLM latencies of a side
NO_TRAFFIC = "NoTraffic"                # Unavailable: the canary does not get the requests that the routers should send


def judge(evidence: types.Evidence | types.Unavailable, trial: types.Trial) -> types.Verdict:
    """Return the verdict on one lane's canary after one more tick."""
    known = memory.read(trial.state)
    if isinstance(evidence, types.Unavailable):
        return _unavailable(evidence, known, trial)
    if known is None or not _same(known, evidence):
        return _said(absorb.begun(evidence), trial, evidence)
    return _said(absorb.absorbed(known, evidence, trial) if evidence.fresh else known, trial, evidence)


def _same(known: memory.Memory, evidence: types.Evidence) -> bool:
    """Whether the memory is of these two revisions."""
    return (known.stable.revision, known.canary.revision) == (evidence.stable.revision, evidence.canary.revision)


def _unavailable(missing: types.Unavailable, known: memory.Memory | None, trial: types.Trial) -> types.Verdict:
    """Keep what is known; what was lost is not counted. A Fail stands."""
    if known is not None and missing.cursor is not None:
        known = dataclasses.replace(known, cursor=missing.cursor)
    state = known.text() if known else trial.state
    if known is not None and known.failed:
        found = weigh.weighed(known, trial.analysis, _log_threshold(trial))
        record = records.record(known, known.failed, found.slowest.log_e, trial)
        return types.Verdict(status.Outcome.FAIL, known.failed.reason, known.failed.message, record, state)
    return types.Verdict(status.Outcome.UNAVAILABLE, missing.reason, missing.message, state=state)


def _said(known: memory.Memory, trial: types.Trial, evidence: types.Evidence) -> types.Verdict:
    """Weigh, decide, and say what to keep. Harm wins over silence, silence over a Pass."""
    cold = _cold(known, trial)
    if cold:
        known = known.restarted(*shares.TAILS)
    found = weigh.weighed(known, trial.analysis, _log_threshold(trial))
    strongest = records.finding(known, found.worst, found.log_e, _fail_reason(found.worst), trial)
    failed = known.failed or _failed(known, strongest, trial)
    record = records.record(known, failed or strongest, found.slowest.log_e, trial)
    outcome, reason, message = (
        (status.Outcome.FAIL, failed.reason, failed.message) if failed
        else _silent(known, trial, evidence) or _undecided(known, trial, found, record, cold)
    )
    kept = _with_restart(dataclasses.replace(known, failed=failed)) if evidence.fresh else dataclasses.replace(known, failed=failed)
    return types.Verdict(outcome, reason, message, record, kept.text())


def _log_threshold(trial: types.Trial) -> float:
    return math.log(trial.steps / float(trial.analysis.false_rollback_rate))


def _fail_reason(worst: weigh.Part) -> str:
    if worst.objective:
        return OBJECTIVE_MISSED
    return ERRORS_WORSE if worst.metric == "errors" else TAIL_WORSE


def _failed(known: memory.Memory, strongest: memory.Finding, trial: types.Trial) -> memory.Finding | None:
    """Return the harm that is shown; None where it is not."""
    if strongest.log_e >= _log_threshold(trial):
        return strongest
    return hangs.hang(known, trial, _log_threshold(trial))


def _silent(known: memory.Memory, trial: types.Trial, evidence: types.Evidence) -> tuple[status.Outcome, str, str] | None:
    """Say what is not measured or does not arrive; None where all is."""
    unseen = [name for name, scraped in zip(("stable", "canary"), evidence.latencies, strict=True) if not scraped]
    if trial.latencies and unseen:
        message = f"no vLLM latencies of the {' and the '.join(unseen)}'s pods in Prometheus lately: are the engine pods scraped?"
        return status.Outcome.UNAVAILABLE, NO_SERIES, message
    if starved := hangs.starved(known, trial, _log_threshold(trial)):
        return status.Outcome.UNAVAILABLE, NO_TRAFFIC, starved
    return None


def _undecided(
    known: memory.Memory, trial: types.Trial, found: weigh.Weighed, record: status.EvidenceRecord, cold: str
) -> tuple[status.Outcome, str, str]:
    """Pass, or say what is missing for one."""
    if cold:
        return status.Outcome.INSUFFICIENT, CACHE_COLD, cold
    if few := _too_few(known):
        return status.Outcome.INSUFFICIENT, TOO_FEW, few
    message = records.summary(record, found.slowest)
    if _shown(known, trial, found):
        low, high = LOAD_RATIOS
        if low <= records.load_ratio(known) <= high:
            return status.Outcome.PASS, PASSED, records.passed(record, found.slowest, trial.analysis)
        withheld = f"no Pass while the canary's requests per replica are {record.load_ratio} of the stable's (from {low:g} to {high:g} they compare)"
        return status.Outcome.INSUFFICIENT, NO_HARM, f"{message}; {withheld}"
    if found.missed:
        missed = " and ".join(shares.NAMES[metric] for metric in found.missed)
        return status.Outcome.INSUFFICIENT, BOTH_BAD, f"{missed}: both sides miss the objective, so it is not the canary's fault; {message}"
    return status.Outcome.INSUFFICIENT, NO_HARM, message


def _shown(known: memory.Memory, trial: types.Trial, found: weigh.Weighed) -> bool:
    """Whether every metric shows that the canary is no worse, after half the step."""
    enough = found.slowest.log_e >= math.log(1 / records.PASS_BETA) and trial.elapsed >= LEAST_TIME * trial.duration
    return enough and trial.latencies and bool(weigh.latencies(known))


def _too_few(known: memory.Memory) -> str:
    """Say that the requests are too few for a Pass; empty where they are not."""
    stable, canary = known.stable.requests, known.canary.requests
    if canary < LEAST_CANARY:
        return f"{canary:.0f} of {LEAST_CANARY} canary requests are in ({stable:.0f} of the stable): no harm seen, and too few for more"
    return "" if stable > 0 else f"{canary:.0f} canary requests are in, but none of the stable to compare with"


def _cold(known: memory.Memory, trial: types.Trial) -> str:
    """Say that the canary's prefix cache is colder than the stable's, and until when it gets time; empty where it does not."""
    most = min(COLD_TIME * trial.duration, COLD_SECONDS)
    stable, canary = known.stable.hit_rate, known.canary.hit_rate
    if not trial.latencies or trial.elapsed >= most or known.canary.requests < LEAST_CANARY or stable is None or canary is None:
        return ""
    if stable < WARM_STABLE or canary >= COLD * stable:
        return ""
    rates = f"the canary found {shares.percent(canary)} of its prompt tokens in the prefix cache, the stable {shares.percent(stable)}"
    return f"{rates}: latencies count once it is warm, at the latest {clock.short(most)} into the step; errors and hangs count now"


def _with_restart(known: memory.Memory) -> memory.Memory:
    """Keep the counts as they are now, five minutes after the last time."""
    last = known.snapshots[-1] if known.snapshots else memory.Snapshot(0, 0.0, {})
    if known.seconds - last.seconds < RESTART_EVERY:
        return known
    counts = {metric: known.counts(metric) for metric in ("errors", *weigh.latencies(known))}
    snapshot = memory.Snapshot(last.number + 1, known.seconds, counts)
    return dataclasses.replace(known, snapshots=(*known.snapshots, snapshot)[-RESTARTS:])
