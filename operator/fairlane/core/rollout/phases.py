"""What happens next in a lane? Failure and supersession before readiness, in every phase; one transition a pass."""

from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import analysis, baseline, capacity, expectation, loading, promoting, reasons, record, rollback, starting, verdict, view

Phase = statuses.Phase


def advance(lane: view.View) -> view.Move:
    """Return the lane's next status, with what people are told and what is recorded."""
    lane = view.with_status(lane, _counted(lane))
    if not lane.status.stable or (lane.differs and not lane.status.canary and starting.never_served(lane)):
        return starting.first(lane)
    move = _running(lane) if lane.status.canary else starting.idle(lane)
    return _announced(lane, expectation.told(lane, move))


def _counted(lane: view.View) -> statuses.LaneStatus:
    """Return the status with what is simply counted."""
    status = lane.status
    ready = lane.ready(status.stable)
    down = None if ready or not status.stable else status.stable_down_since or clock.text(lane.now)
    return view.changed(
        status, desired_hash=lane.rendered.hash, replicas=lane.spec.replicas, ready_replicas=ready, canary_ready_replicas=lane.ready(status.canary),
        canary_replicas=(lane.replicas(status.canary) or 0) if status.canary else 0, stable_down_since=down,
    )


def _announced(lane: view.View, move: view.Move) -> view.Move:
    """Tell when the metrics go and come back, and when the stable is down."""
    before, after = lane.status.reason, move.status.reason
    name, message = lane.spec.name, move.status.message
    events = list(move.events)
    if before == reasons.METRICS_UNAVAILABLE != after and isinstance(lane.evidence, judging.Evidence):
        events.append(view.normal(reasons.EVENT_METRICS_BACK, f"{name}: numbers again: {message}"))
    if after == reasons.STABLE_DOWN != before:
        events.append(view.warning(reasons.EVENT_STABLE_DOWN, f"{name}: {message}"))
    if before == reasons.STARTING and after == reasons.SERVING:
        events.append(view.normal(reasons.EVENT_LANE_READY, f"{name}: {message}"))
    return view.Move(move.status, tuple(events), move.record, move.created)


def _running(lane: view.View) -> view.Move:
    status = lane.status
    if status.phase is Phase.ROLLING_BACK:
        return rollback.proceed(lane)
    if lane.rendered.hash != view.hash_of(status.canary) and promoting.may_turn_back(lane):
        return _superseded(lane)
    if (found := loading.failure(lane, status.canary) or loading.overdue(lane, status)) is not None:
        return rollback.trouble(lane, status, found)
    if (lacking := baseline.trouble(lane)) is not None:
        return baseline.dropped(lane, lacking)
    said = verdict.of(lane)
    if said is not None and said.outcome is statuses.Outcome.FAIL:
        return analysis.failed(lane, said)
    if promoting.cures(lane):
        return promoting.replace(lane)
    return _phase(view.with_status(lane, _loading_clock(_heard(lane, said))), said)


def _phase(lane: view.View, said: judging.Verdict | None) -> view.Move:
    match lane.status.phase:
        case Phase.WARMING:
            return analysis.warming(lane, said)
        case Phase.ANALYZING:
            return analysis.analyzing(lane, said)
        case Phase.PROMOTING:
            return promoting.proceed(lane)
        case _:
            return _loading(lane)


def _heard(lane: view.View, said: judging.Verdict | None) -> view.View:
    """Return the lane with what the judge said kept, in phases that have other things to tell."""
    status = lane.status
    if said is None or status.phase in (Phase.WARMING, Phase.ANALYZING):
        return lane
    return view.with_status(lane, record.told(lane, status, said, status.reason, status.message))


def _superseded(lane: view.View) -> view.Move:
    status = lane.status
    if not lane.differs:
        message = f"the spec went back to {status.stable}: {status.canary} ends without a verdict"
        return rollback.begin(lane, status, reasons.REVERTED, message, reject=False)
    message = f"the spec asks for {lane.rendered.hash} now: {status.canary} ends without a verdict, {status.stable} serves on"
    return rollback.begin(lane, status, reasons.SUPERSEDED, message, reject=False)


def _loading_clock(lane: view.View) -> statuses.LaneStatus:
    """Start the load deadline when a pod that is not ready has a node; stop it when all that the phase needs are ready."""
    status = lane.status
    enough = lane.spec.replicas if status.phase is Phase.PROMOTING else capacity.trial_replicas(lane, status)
    if lane.ready(status.canary) >= enough:
        return view.changed(status, loading_since=None)
    return view.changed(status, loading_since=status.loading_since or loading.scheduled(lane))


def _loading(lane: view.View) -> view.Move:
    """Wait for a node, then for the pods, then for the routers; then give the canary its weight."""
    status = lane.status
    if (stuck := loading.blocked(lane)) is not None and not _enough(lane):
        return _waiting(lane, stuck)
    if status.phase is Phase.WAITING:
        status = view.changed(status, phase=Phase.LOADING, phase_since=clock.text(lane.now))
    if not _enough(lane):
        return view.Move(view.changed(status, reason=reasons.LOADING, message=view.clipped(_loading_words(lane))))
    if lane.usable(status.canary) < _least(lane) or not (promoting.takes_over(lane) or baseline.usable(lane)) or not _known(lane):
        return view.Move(view.changed(status, reason=reasons.AWAITING_AGENTS, message=analysis.awaited(lane)))
    return _loaded(lane, status)


def _known(lane: view.View) -> bool:
    """Whether every router serves the canary at the weight it had; or a pass that was cut off has written the next weight already."""
    name, status = lane.spec.name, lane.status
    stored = lane.agents.track(name, status.canary)
    written = stored is not None and stored.weight == capacity.step(lane.rollout, status).weight
    return written or lane.agents.serves(name, status.canary, status.weight)


def _least(lane: view.View) -> int:
    return 1 if promoting.takes_over(lane) else capacity.trial_replicas(lane, lane.status)


def _enough(lane: view.View) -> bool:
    return lane.ready(lane.status.canary) >= _least(lane) and (promoting.takes_over(lane) or baseline.ready(lane))


def _loading_words(lane: view.View) -> str:
    status = lane.status
    need = capacity.trial_replicas(lane, status)
    weight = f"; {status.weight} % until then" if status.weight else ""
    until = f"at the latest {lane.rollout.load_deadline} after they are scheduled{weight}"
    beside = f", {lane.ready(status.baseline)} of {need} of its baseline {status.baseline}" if status.baseline else ""
    if status.baseline and (stuck := loading.blocked(lane, status.baseline)) is not None:
        beside += f" ({stuck.message})"
    return f"{status.canary}: {lane.ready(status.canary)} of {need} canary replicas ready{beside}, {until}"


def _waiting(lane: view.View, stuck: loading.Trouble) -> view.Move:
    status = lane.status
    hint = "" if status.in_place else "; `fairlane promote` replaces the stable in place, `abort` gives up"
    message = view.clipped(f"{stuck.message}{hint}")
    after = view.changed(status, phase=Phase.WAITING, reason=stuck.reason, message=message)
    if status.phase is Phase.WAITING and status.reason == stuck.reason:
        return view.Move(after)
    after = view.changed(after, phase_since=clock.text(lane.now))
    return view.Move(after, (view.warning(reasons.EVENT_WAITING, f"{lane.spec.name}: {message}"),))


def _loaded(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    """The canary is ready and every router knows it."""
    if promoting.takes_over(lane):
        return promoting.replace(lane)
    if status.paused:
        held = f"{status.canary} is ready and paused at {status.weight} %; `fairlane resume` goes on"
        return view.Move(view.changed(status, reason=reasons.PAUSED, message=held))
    if status.promote_when_ready:
        return promoting.begin(lane, status, "`promote` was asked for")
    weight, now = capacity.step(lane.rollout, status).weight, clock.text(lane.now)
    message = f"{status.canary} is ready and every router knows it: warm-up at {weight} %"
    after = view.changed(
        baseline.kept(status, weight), phase=Phase.WARMING, weight=weight, phase_since=now, step_since=now, loading_since=None, held_since=None, held_seconds=0,
        verdict=None, evidence=None, judge_state="", reason=reasons.WARMING, message=message,
    )
    return view.Move(after, (view.normal(reasons.EVENT_READY, f"{lane.spec.name}: {message}"),))
