"""Warming and analyzing: the canary has traffic, and every pass asks the judge."""

import datetime

from ...api import base
from ...api import spec as specs
from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import baseline, capacity, loading, promoting, reasons, record, rollback, trying, verdict, view

SCRAPED_WITHIN = 30.0   # seconds: two scrapes at Prometheus' usual interval of 15 s
_NOT_YET = frozenset({"NoSeries", verdict.NOT_MEASURED})   # what a store that works says of a step that has just begun


def failed(lane: view.View, said: judging.Verdict) -> view.Move:
    """Roll back on a Fail, with the numbers."""
    status = lane.status
    if status.trial:
        return trying.alarm(lane, said)
    where = f"at {status.weight} %, {clock.short(clock.since(status.step_since or status.phase_since, lane.now))} into the step"
    return rollback.begin(lane, status, said.reason, f"{status.canary} was rolled back {where}: {said.message}", reject=True, verdict=said)


def warming(lane: view.View, said: judging.Verdict | None) -> view.Move:
    """End the warm-up after its requests or its time, whichever is first."""
    status, warmup = held(lane, _undecidable(lane, None)), lane.rollout.warmup
    if not lane.agents.serves(lane.spec.name, status.canary, status.weight):
        return view.Move(record.told(lane, status, said, reasons.AWAITING_AGENTS, awaited(lane)))
    over = _requests(status, said) >= warmup.requests or verdict.elapsed(lane, status, status.phase_since) >= base.seconds(warmup.duration)
    if not over or status.paused or status.held_since:
        message = f"warm-up at {status.weight} %: until {warmup.requests} requests or {warmup.duration}; their latencies count for nothing, their errors do"
        return view.Move(record.told(lane, status, said, reasons.PAUSED if status.paused else reasons.WARMING, message))
    return _step(lane, record.heard(status, said) if said else status, known=True)


def begin(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    """Start a later step: its evidence begins at once, its clock when every router has the weight."""
    return _step(lane, view.changed(status, verdict=None, evidence=None, judge_state=""), known=False)


def _step(lane: view.View, status: statuses.LaneStatus, *, known: bool) -> view.Move:
    """Start to judge the canary at its weight (`known`: every router has it). The evidence of a warm-up goes on: its errors count."""
    now, message = clock.text(lane.now), _step_words(lane, status)
    after = view.changed(
        status, phase=statuses.Phase.ANALYZING, phase_since=now, step_since=now if known else None, held_since=None, held_seconds=0,
        reason=reasons.ANALYZING, message=message,
    )
    return view.Move(after, (view.normal(reasons.EVENT_STEP, f"{lane.spec.name}: {status.canary}, {message}"),))


def analyzing(lane: view.View, said: judging.Verdict | None) -> view.Move:
    """Hold, extend or end the step."""
    if lane.status.step_since is None:
        return _open(lane, said)
    undecidable = _undecidable(lane, said)
    if undecidable:
        return _hold(lane, held(lane, undecidable), said, *undecidable)
    if said is None:
        return view.Move(lane.status)   # nothing new: what was said last stands, a hold too
    status = held(lane, None)
    spent, length = verdict.elapsed(lane, status, status.step_since), base.seconds(capacity.step(lane.rollout, status).duration)
    if status.paused:
        return _hold(lane, status, said, reasons.PAUSED, f"paused at {status.weight} %; {said.message}")
    if said.outcome is statuses.Outcome.PASS and spent >= length / 2 and not _short_of_load(lane, said):
        return _advance(lane, status, said, reasons.PASSED, said.message)
    if spent < length:
        return view.Move(record.told(lane, status, said, reasons.ANALYZING, said.message))
    return _insufficient(lane, status, said)


def _open(lane: view.View, said: judging.Verdict | None) -> view.Move:
    """Start the step's clock when every router serves its weight."""
    status, now = lane.status, clock.text(lane.now)
    if lane.agents.serves(lane.spec.name, status.canary, status.weight):
        after = view.changed(status, phase_since=now, step_since=now)
        return view.Move(record.told(lane, after, said, reasons.ANALYZING, _step_words(lane, status)))
    return view.Move(record.told(lane, status, said, reasons.AWAITING_AGENTS, awaited(lane)))


def _step_words(lane: view.View, status: statuses.LaneStatus) -> str:
    number = f"step {status.step + 1} of {len(lane.rollout.steps)}"
    return f"{number}: {status.weight} % of the lane for {capacity.step(lane.rollout, status).duration}{baseline.words(lane, status)}"


def held(lane: view.View, undecidable: tuple[str, str] | None) -> statuses.LaneStatus:
    """Return the status with the step's clock stopped while nothing can be decided."""
    status = lane.status
    if undecidable and status.held_since is None:
        return view.changed(status, held_since=clock.text(lane.now))
    if not undecidable and status.held_since is not None:
        return view.changed(status, held_since=None, held_seconds=status.held_seconds + round(clock.since(status.held_since, lane.now)))
    return status


def awaited(lane: view.View) -> str:
    """Say which router pods have not acknowledged the routes."""
    behind = lane.agents.behind
    return f"waiting for {len(behind)} router pods to acknowledge the routes: {', '.join(behind[:3])}" if behind else "waiting for the routes to be written"


def opening(status: statuses.LaneStatus, reason: str, now: datetime.datetime) -> bool:
    """Whether numbers are missing only because the step is so young that nothing may have been scraped in it."""
    young = clock.since(status.step_since or status.phase_since, now) < SCRAPED_WITHIN
    return young and not status.judge_state and reason in _NOT_YET


def _undecidable(lane: view.View, said: judging.Verdict | None) -> tuple[str, str] | None:
    """Return why nothing can be decided: no numbers, or a side without a ready pod."""
    status = lane.status
    if not lane.ready(status.canary):
        stuck = loading.blocked(lane)
        words = f": {stuck.message}" if stuck else ""
        return reasons.HOLDING, f"{status.canary} has no ready replica{words}; the routers send its share to the stable"
    if not lane.ready(status.stable):
        return reasons.STABLE_DOWN, f"{status.stable} has no ready replica to compare with"
    if status.baseline and not lane.ready(status.baseline):
        return reasons.HOLDING, f"the baseline {status.baseline} has no ready replica to compare with; the routers send its share to the stable"
    if said is not None and said.outcome is statuses.Outcome.UNAVAILABLE:
        if status.reason != reasons.METRICS_UNAVAILABLE and opening(status, said.reason, lane.now):
            return reasons.ANALYZING, "the step has just begun: no numbers yet"
        return reasons.METRICS_UNAVAILABLE, f"{said.reason}: {said.message}; held at {status.weight} %, the step's clock stands still"
    return None


def _hold(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict | None, reason: str, message: str) -> view.Move:
    kind = reasons.EVENT_METRICS if reason == reasons.METRICS_UNAVAILABLE else reasons.EVENT_HOLDING
    after = record.told(lane, status, said, reason, message)
    # a metrics store that comes back without its history was away before, which has been told; that counts are left out has not
    lost = said is not None and said.reason == judging.HISTORY_LOST and after.judge_state != status.judge_state
    silent = reason in (status.reason, reasons.PAUSED, reasons.STABLE_DOWN, reasons.ANALYZING) and not lost
    event = () if silent else (view.warning(kind, f"{lane.spec.name}: {message}"),)
    return view.Move(after, event)


def _insufficient(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict) -> view.Move:
    """End a step without a Pass as `onInsufficient` says."""
    policy, least = lane.rollout.on_insufficient, lane.rollout.analysis.min_requests
    if policy is specs.OnInsufficient.ROLLBACK:
        message = f"{status.canary} was rolled back at {status.weight} %: the step is over without a Pass (rollout.onInsufficient: Rollback): {said.message}"
        return rollback.begin(lane, status, reasons.INSUFFICIENT, message, reject=True, verdict=said)
    if policy is specs.OnInsufficient.HOLD:
        told = f"the step is over without a Pass (rollout.onInsufficient: Hold); `fairlane promote` or `abort` decides: {said.message}"
        return _hold(lane, status, said, reasons.HOLDING, told)
    if _requests(status, said) < least:
        told = f"the step goes on until {least} canary requests are in (rollout.analysis.minRequests): {said.message}"
        return _hold(lane, status, said, reasons.HOLDING, told)
    return _advance(lane, status, said, reasons.NO_HARM, f"no evidence of harm, which is no Pass: {said.message}")


def _requests(status: statuses.LaneStatus, said: judging.Verdict | None) -> int:
    """The canary's requests since the step's evidence began, the warm-up's among them."""
    kept = said.record if said is not None and said.record is not None else status.evidence
    return kept.canary.requests if kept is not None else 0


def _short_of_load(lane: view.View, said: judging.Verdict) -> bool:
    """Whether a Pass at the last step is none, because the canary's replicas saw less than the lane's load."""
    if not capacity.last_step(lane.rollout, lane.status) or said.record is None:
        return False
    return baseline.load_ratio(lane, said.record) < capacity.LOAD_RATIO


def _advance(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict, reason: str, message: str) -> view.Move:
    """Go to the next step, or promote after the last."""
    told = f"{message}{_load_words(lane, said)}"
    made = record.decision(lane, said.outcome, reason, told, said.record)
    decided = view.changed(status, decisions=record.added(status, made), evidence=said.record or status.evidence, verdict=said.outcome)
    ended = view.normal(reasons.EVENT_STEP_ENDED, f"{lane.spec.name}: {status.canary} at {status.weight} % ({reason}): {told}")
    if capacity.last_step(lane.rollout, status) and status.trial:
        move = trying.finish(lane, decided)
    elif capacity.last_step(lane.rollout, status):
        move = promoting.begin(lane, decided, f"the last step is over: {told}")
    else:
        move = next_step(lane, view.changed(decided, step=status.step + 1))
    return view.Move(move.status, (ended, *move.events))


def next_step(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    """Raise the weight, after the replicas that carry it are there."""
    weight = capacity.step(lane.rollout, status).weight
    status = baseline.kept(status, weight)
    names = (status.canary, status.baseline) if status.baseline else (status.canary,)
    missing = capacity.trial_replicas(lane, status) - min(lane.usable(name) for name in names)
    if missing <= 0:
        return begin(lane, view.changed(status, weight=weight))
    message = f"{missing} more canary replicas load before the weight goes from {status.weight} % to {weight} %"
    after = view.changed(
        status, phase=statuses.Phase.LOADING, phase_since=clock.text(lane.now), loading_since=None, held_since=None,
        verdict=None, evidence=None, judge_state="", reason=reasons.LOADING, message=message,
    )
    return view.Move(after)


def _load_words(lane: view.View, said: judging.Verdict) -> str:
    ratio = baseline.load_ratio(lane, said.record) if said.record else 1.0
    return f"; requests per replica were {ratio:.0%} of the stable's" if ratio < capacity.LOAD_RATIO else ""
