"""Memory, before and after a revision loads: what may not start, what is told, what the engine measured of what was computed."""

from collections.abc import Mapping

from ...api import spec as specs
from ...api import status as statuses
from .. import observed, planned
from ..engine import fitness
from ..engine.memory import compare
from ..engine.memory.answer import Answer, Preflight
from ..engine.memory.unknown import Unknown
from . import reasons, view

_MIB = 2**20


def checked(seen: observed.Observed, spec: specs.LLMServiceSpec, lane: specs.Lane) -> Preflight | None:
    """Return the answer for what the spec asks for; None where it is off, or nothing depends on it now."""
    if spec.rollout.preflight is specs.Preflight.OFF or seen.model is None:
        return None
    learnt = correction(_memory(seen.status, lane.name), fitness.key(spec, lane, seen.gpu_products))
    return fitness.check(spec, lane, seen.model, learnt, seen.gpu_products)


def asks(seen: observed.Observed) -> bool:
    """Whether the pass may start a revision, or compare what an engine measured: then the model's files are needed."""
    lanes = seen.status.lanes
    starts = any(not lane.canary and lane.desired_hash != view.hash_of(lane.stable) and lane.desired_hash not in lane.rejected for lane in lanes)
    return not lanes or seen.generation != seen.status.observed_generation or starts or any(unmeasured(lane) for lane in lanes)


def correction(memory: statuses.MemoryStatus | None, key: str) -> int | None:
    """Return what an earlier load of the same model on the same GPUs taught, in bytes; None where there was none."""
    if memory is None or memory.correction_mib is None or memory.key != key:
        return None
    return memory.correction_mib * _MIB


def obstacle(lane: view.View) -> str:
    """Return why the desired revision may not start; empty where it may."""
    if lane.rollout.preflight is not specs.Preflight.ENFORCE:
        return ""
    kept = lane.status.memory
    silent = bool(lane.reading) if lane.fit is None else _is_silent(lane.fit)
    if silent and kept is not None and kept.revision == lane.rendered.hash and kept.answer == Answer.NO:
        return _why(lane, kept.message)   # a hub that is away now, or a pod that is gone, changes nothing of what the files said
    return _why(lane, lane.fit.sentence) if lane.fit is not None and lane.fit.answer is Answer.NO else ""


def _why(lane: view.View, sentence: str) -> str:
    return f"revision {lane.rendered.hash} is not started: it {sentence} (rollout.preflight: Enforce)"


def _is_silent(fit: Preflight) -> bool:
    """Whether nothing could be computed."""
    return fit.answer is Answer.UNCERTAIN and fit.kv_tokens is None


def stopped(lane: view.View, status: statuses.LaneStatus, why: str) -> view.Move:
    """Return the lane as it stays, and what is told the first time."""
    message = view.clipped(f"{status.stable} serves; {why}" if status.stable else why)
    after = view.changed(status, reason=reasons.DOES_NOT_FIT, message=message)
    told = lane.status.reason == reasons.DOES_NOT_FIT and lane.status.message == message
    return view.Move(after, () if told else (view.warning(reasons.EVENT_UNFIT, f"{lane.spec.name}: {why}"),))


def warnings(lane: view.View) -> tuple[planned.Event, ...]:
    """Return what is told of a revision that starts although it does not fit."""
    if lane.fit is None or lane.fit.answer is not Answer.NO:
        return ()
    return (view.warning(reasons.EVENT_UNFIT, f"{lane.spec.name}: revision {lane.rendered.hash} {lane.fit.sentence}; it is started (rollout.preflight: Warn)"),)


def remembered(seen: observed.Observed, spec: specs.LLMServiceSpec, lane: view.View, status: statuses.LaneStatus) -> statuses.LaneStatus:
    """Return the status with what is known of the lane's memory: the prediction for the desired revision, then what its engine measured."""
    if lane.fit is None:
        return status
    if _is_silent(lane.fit) and status.memory is not None and status.memory.revision == lane.rendered.hash:
        return status
    memory, key = status.memory, fitness.key(spec, lane.spec, seen.gpu_products)
    if memory is None or memory.revision != lane.rendered.hash or memory.measured_kv_tokens is None:
        memory = _predicted(lane.rendered.hash, lane.fit, memory if memory is not None and memory.key == key else None, key)
        memory = _measured(memory, lane.fit, seen.caches.get(status.canary or status.stable, {}), status)
    return view.changed(status, memory=memory)


def unmeasured(lane: statuses.LaneStatus) -> str:
    """Return the revision whose engine's own numbers are still wanted; empty where none are."""
    running = lane.canary or lane.stable
    return running if is_open(lane) and (lane.canary_ready_replicas if lane.canary else lane.ready_replicas) else ""


def is_open(lane: statuses.LaneStatus) -> bool:
    """Whether the newest revision that runs has a prediction that its engine has not confirmed yet."""
    running, memory = lane.canary or lane.stable, lane.memory
    if memory is None or memory.measured_kv_tokens is not None or memory.predicted_kv_tokens is None:
        return False
    return bool(running) and view.hash_of(running) == memory.revision


def _predicted(revision: str, fit: Preflight, before: statuses.MemoryStatus | None, key: str) -> statuses.MemoryStatus:
    """The prediction, with the correction that went into it."""
    return statuses.MemoryStatus(
        revision=revision, answer=fit.answer.value, message=fit.sentence, predicted_kv_tokens=fit.kv_tokens,
        correction_mib=before.correction_mib if before else None, key=key,
    )


def _measured(memory: statuses.MemoryStatus, fit: Preflight, labels: Mapping[str, str], status: statuses.LaneStatus) -> statuses.MemoryStatus:
    """The prediction beside what the engine says, if it says it by now."""
    if not labels or fit.pool is None or view.hash_of(status.canary or status.stable) != memory.revision:
        return memory
    found = compare.compare(fit.pool, labels)
    if isinstance(found, Unknown):
        return memory
    learnt = memory.correction_mib if found.correction is None else round(found.correction / _MIB)
    return memory.model_copy(update={"measured_kv_tokens": found.measured_tokens, "correction_mib": learnt})


def _memory(status: statuses.LLMServiceStatus, lane: str) -> statuses.MemoryStatus | None:
    return next((item.memory for item in status.lanes if item.name == lane), None)
