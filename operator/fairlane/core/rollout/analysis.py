"""Warming and analyzing: the canary has traffic, and every pass asks the judge."""

import datetime

from ...api import base
from ...api import spec as specs
from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import capacity, loading, promoting, reasons, record, rollback, view

SCRAPED_WITHIN = 30.0   # seconds: two scrapes at Prometheus' usual interval of 15 s
_UNMEASURED = judging.Unavailable("NotMeasured", "this pass read no numbers of the canary")
_PHASES = frozenset({statuses.Phase.WARMING, statuses.Phase.ANALYZING, statuses.Phase.PROMOTING})


def verdict(lane: view.View) -> judging.Verdict | None:
    """Return what the judge says of a canary with traffic; None where there is nothing to judge or no stable to compare it with."""
    status = lane.status
    if not status.weight or not lane.ready(status.stable):
        return None
    if status.phase is statuses.Phase.PROMOTING and lane.ready(status.stable) < lane.spec.replicas:
        return None
    evidence = lane.evidence
    if evidence is None or (isinstance(evidence, judging.Evidence) and evidence.canary.revision != status.canary):
        if status.phase not in _PHASES:
            return None
        evidence = _UNMEASURED
    return lane.judge(evidence, lane.spec, lane.rollout.analysis, latencies=status.phase is not statuses.Phase.WARMING)


def failed(lane: view.View, said: judging.Verdict) -> view.Move:
    """Roll back on a Fail, with the numbers."""
    status = lane.status
    where = f"at {status.weight} %, {clock.short(clock.since(status.step_since or status.phase_since, lane.now))} into the step"
    return rollback.begin(lane, status, said.reason, f"{status.canary} was rolled back {where}: {said.message}", reject=True, verdict=said)


def warming(lane: view.View) -> view.Move:
    """End the warm-up after its requests or its time, whichever is first."""
    status, warmup = held(lane, _undecidable(lane, None)), lane.rollout.warmup
    if not lane.agents.serves(lane.spec.name, status.canary, status.weight):
        return view.Move(view.changed(status, reason=reasons.AWAITING_AGENTS, message=awaited(lane)))
    requests = lane.evidence.canary.requests if isinstance(lane.evidence, judging.Evidence) else 0.0
    over = requests >= warmup.requests or elapsed(lane, status, status.phase_since) >= base.seconds(warmup.duration)
    if not over or status.paused or status.held_since:
        message = f"warm-up at {status.weight} %: until {warmup.requests} requests or {warmup.duration}; their latencies count for nothing, their errors do"
        return view.Move(view.changed(status, reason=reasons.PAUSED if status.paused else reasons.WARMING, message=message))
    return begin(lane, status, known=True)


def begin(lane: view.View, status: statuses.LaneStatus, *, known: bool) -> view.Move:
    """Start to judge the canary at its weight: the window and the step's clock begin when every router has it (`known`: they have)."""
    now, message = clock.text(lane.now), _step_words(lane, status)
    after = view.changed(
        status, phase=statuses.Phase.ANALYZING, phase_since=now, step_since=now if known else None, held_since=None, held_seconds=0,
        verdict=None, evidence=None, reason=reasons.ANALYZING, message=message,
    )
    return view.Move(after, (view.normal(reasons.EVENT_STEP, f"{lane.spec.name}: {status.canary}, {message}"),))


def analyzing(lane: view.View, said: judging.Verdict | None) -> view.Move:
    """Hold, extend or end the step."""
    if lane.status.step_since is None:
        return _open(lane)
    undecidable = _undecidable(lane, said)
    status = held(lane, undecidable)
    if undecidable or said is None:
        reason, message = undecidable or (reasons.HOLDING, "nothing to judge")
        return _hold(lane, status, said, reason, message)
    spent, length = elapsed(lane, status, status.step_since), base.seconds(capacity.step(lane.rollout, status).duration)
    if status.paused:
        return _hold(lane, status, said, reasons.PAUSED, f"paused at {status.weight} %; {said.message}")
    if said.outcome is statuses.Outcome.PASS and spent >= length / 2 and not _short_of_load(lane):
        return _advance(lane, status, said, reasons.PASSED, said.message)
    if spent < length:
        return view.Move(record.with_verdict(lane, status, said, reasons.ANALYZING, said.message, _interval(lane)))
    return _insufficient(lane, status, said)


def _open(lane: view.View) -> view.Move:
    """Start the step's clock when every router serves its weight."""
    status, now = lane.status, clock.text(lane.now)
    if lane.agents.serves(lane.spec.name, status.canary, status.weight):
        return view.Move(view.changed(status, phase_since=now, step_since=now, reason=reasons.ANALYZING, message=_step_words(lane, status)))
    return view.Move(view.changed(status, reason=reasons.AWAITING_AGENTS, message=awaited(lane)))


def _step_words(lane: view.View, status: statuses.LaneStatus) -> str:
    return f"step {status.step + 1} of {len(lane.rollout.steps)}: {status.weight} % of the lane for {capacity.step(lane.rollout, status).duration}"


def held(lane: view.View, undecidable: tuple[str, str] | None) -> statuses.LaneStatus:
    """Return the status with the step's clock stopped while nothing can be decided."""
    status = lane.status
    if undecidable and status.held_since is None:
        return view.changed(status, held_since=clock.text(lane.now))
    if not undecidable and status.held_since is not None:
        return view.changed(status, held_since=None, held_seconds=status.held_seconds + round(clock.since(status.held_since, lane.now)))
    return status


def elapsed(lane: view.View, status: statuses.LaneStatus, start: str | None) -> float:
    """Seconds of the phase or step in which something could be decided."""
    return max(0.0, clock.since(start, lane.now) - status.held_seconds - clock.since(status.held_since, lane.now))


def awaited(lane: view.View) -> str:
    """Say which router pods have not acknowledged the routes."""
    behind = lane.agents.behind
    return f"waiting for {len(behind)} router pods to acknowledge the routes: {', '.join(behind[:3])}" if behind else "waiting for the routes to be written"


def opening(status: statuses.LaneStatus, now: datetime.datetime) -> bool:
    """Whether the window is so young that nothing may have been scraped in it."""
    return clock.since(status.step_since or status.phase_since, now) < SCRAPED_WITHIN


def _undecidable(lane: view.View, said: judging.Verdict | None) -> tuple[str, str] | None:
    """Return why nothing can be decided: no numbers, or a side without a ready pod."""
    status = lane.status
    if not lane.ready(status.canary):
        stuck = loading.blocked(lane)
        words = f": {stuck.message}" if stuck else ""
        return reasons.HOLDING, f"{status.canary} has no ready replica{words}; the routers send its share to the stable"
    if not lane.ready(status.stable):
        return reasons.STABLE_DOWN, f"{status.stable} has no ready replica to compare with"
    if said is not None and said.outcome is statuses.Outcome.UNAVAILABLE:
        if status.reason != reasons.METRICS_UNAVAILABLE and opening(status, lane.now):
            return reasons.ANALYZING, "the step has just begun: no numbers yet"
        return reasons.METRICS_UNAVAILABLE, f"{said.reason}: {said.message}; held at {status.weight} %, the step's clock stands still"
    return None


def _hold(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict | None, reason: str, message: str) -> view.Move:
    kind = reasons.EVENT_METRICS if reason == reasons.METRICS_UNAVAILABLE else reasons.EVENT_HOLDING
    silent = reason in (status.reason, reasons.PAUSED, reasons.STABLE_DOWN, reasons.ANALYZING)
    event = () if silent else (view.warning(kind, f"{lane.spec.name}: {message}"),)
    if said is None:
        return view.Move(view.changed(status, reason=reason, message=view.clipped(message)), event)
    return view.Move(record.with_verdict(lane, status, said, reason, message, _interval(lane)), event)


def _insufficient(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict) -> view.Move:
    """End a step without a Pass as `onInsufficient` says."""
    policy, least = lane.rollout.on_insufficient, lane.rollout.analysis.min_requests
    requests = lane.evidence.canary.requests if isinstance(lane.evidence, judging.Evidence) else 0.0
    if policy is specs.OnInsufficient.ROLLBACK:
        message = f"{status.canary} was rolled back at {status.weight} %: the step is over without a Pass (rollout.onInsufficient: Rollback): {said.message}"
        return rollback.begin(lane, status, reasons.INSUFFICIENT, message, reject=True, verdict=said)
    if policy is specs.OnInsufficient.HOLD:
        told = f"the step is over without a Pass (rollout.onInsufficient: Hold); `fairlane promote` or `abort` decides: {said.message}"
        return _hold(lane, status, said, reasons.HOLDING, told)
    if requests < least:
        told = f"the step goes on until {least} canary requests are in (rollout.analysis.minRequests): {said.message}"
        return _hold(lane, status, said, reasons.HOLDING, told)
    return _advance(lane, status, said, reasons.NO_HARM, f"no evidence of harm, which is no Pass: {said.message}")


def _short_of_load(lane: view.View) -> bool:
    """Whether a Pass at the last step is none, because the canary's replicas saw less than the lane's load."""
    if not capacity.last_step(lane.rollout, lane.status) or not isinstance(lane.evidence, judging.Evidence):
        return False
    return capacity.load_ratio(lane.evidence) < capacity.LOAD_RATIO


def _advance(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict, reason: str, message: str) -> view.Move:
    """Go to the next step, or promote after the last."""
    told = f"{message}{_load_words(lane)}"
    made = record.decision(lane, said.outcome, reason, told, said.record)
    decided = view.changed(status, decisions=record.added(status, made), evidence=said.record or status.evidence, verdict=said.outcome)
    ended = view.normal(reasons.EVENT_STEP_ENDED, f"{lane.spec.name}: {status.canary} at {status.weight} % ({reason}): {told}")
    if capacity.last_step(lane.rollout, status):
        move = promoting.begin(lane, decided, f"the last step is over: {told}")
    else:
        move = next_step(lane, view.changed(decided, step=status.step + 1))
    return view.Move(move.status, (ended, *move.events))


def next_step(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    """Raise the weight, after the replicas that carry it are there."""
    missing = capacity.trial_replicas(lane, status) - lane.usable(status.canary)
    weight = capacity.step(lane.rollout, status).weight
    if missing <= 0:
        return begin(lane, view.changed(status, weight=weight), known=False)
    message = f"{missing} more canary replicas load before the weight goes from {status.weight} % to {weight} %"
    after = view.changed(
        status, phase=statuses.Phase.LOADING, phase_since=clock.text(lane.now), loading_since=None, held_since=None, reason=reasons.LOADING, message=message
    )
    return view.Move(after)


def _load_words(lane: view.View) -> str:
    if not isinstance(lane.evidence, judging.Evidence):
        return ""
    ratio = capacity.load_ratio(lane.evidence)
    return f"; requests per replica were {ratio:.0%} of the stable's" if ratio < capacity.LOAD_RATIO else ""


def _interval(lane: view.View) -> float:
    return base.seconds(lane.rollout.analysis.interval)
