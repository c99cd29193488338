"""What explains a tick and decides nothing by itself."""

from collections.abc import Callable, Iterable, Mapping

from ..routing import metrics as router
from . import increments, queries, samples, types

_LEFT = "DC"                # Envoy's flag: the client left
_NO_REVISION = ("-", "")    # an answer of Envoy's own


def context(engine: increments.Increments, gauges: Iterable[samples.Sample], gpus: Iterable[samples.Sample], hidden: float, aborted: float) -> types.Context:
    """Return one side's; all samples are of its pods."""
    working = samples.pods(sample for sample in engine if sample.value > 0)
    busy, memory = _gpus(_of(list(gpus), working))
    measured = list(gauges)
    requests = [sample.value for sample in measured if sample.name in (queries.RUNNING, queries.WAITING)]
    return types.Context(
        running=sum(requests) if requests else None,
        prefix_queries=increments.total(engine, *queries.PREFIX_QUERIES),
        prefix_hits=increments.total(engine, *queries.PREFIX_HITS),
        preemptions=increments.total(engine, queries.PREEMPTIONS),
        generated=increments.total(engine, queries.GENERATED),
        steps=increments.total(engine, queries.STEPS),
        finished=_finished(engine),
        kv_use=_mean(_first(_of(measured, working), queries.KV_USE)),
        gpu_utilization=busy,
        gpu_memory=memory,
        hidden=hidden,
        aborted=aborted,
    )


def _of(measured: list[samples.Sample], working: set[str]) -> list[samples.Sample]:
    """Those of the pods that worked in the tick, or of all where none did: a mean over pods that stand by would say nothing of the others."""
    return [sample for sample in measured if sample.pod in working or sample.labels.get("exported_pod", "") in working] or measured


def hidden(tries: increments.Increments, revisions: tuple[str, str]) -> tuple[float, float]:
    """Failed tries of users' requests of each revision that no client saw. What Envoy answered itself names no revision: it is shared out by their failures."""
    failed = [_sum(tries, router.FAILURES, revision, lambda labels: labels.get(router.SYNTHETIC) != "1") for revision in revisions]
    unnamed = sum(_sum(tries, router.REQUESTS, revision, _failed) for revision in _NO_REVISION)
    first, second = (
        max(own - _sum(tries, router.REQUESTS, revision, _failed) - unnamed * own / max(sum(failed), 1.0), 0.0)
        for own, revision in zip(failed, revisions, strict=True)
    )
    return first, second


def aborted(tries: increments.Increments, revision: str) -> float:
    """Requests that the client left while the revision answered."""
    return _sum(tries, router.REQUESTS, revision, lambda labels: _LEFT in labels.get(router.FLAGS, "").split(","))


def _sum(tries: increments.Increments, name: str, revision: str, matches: Callable[[Mapping[str, str]], bool] | None = None) -> float:
    own = (sample for sample in tries if sample.name == name and sample.labels.get(router.REVISION, "") == revision)
    return sum(sample.value for sample in own if matches is None or matches(sample.labels))


def _failed(labels: Mapping[str, str]) -> bool:
    """Whether the client saw a failure: 5xx, or a stream that broke inside a 200."""
    code, flags = labels.get(router.CODE, ""), labels.get(router.FLAGS, "-")
    return code.startswith("5") or (code == "200" and flags not in ("-", "") and _LEFT not in flags.split(","))


def _finished(engine: increments.Increments) -> dict[str, float]:
    reasons: dict[str, float] = {}
    for sample in engine:
        if sample.name == queries.FINISHED:
            reason = sample.labels.get("finished_reason", "")
            reasons[reason] = reasons.get(reason, 0.0) + sample.value
    return reasons


def _gpus(measured: list[samples.Sample]) -> tuple[float | None, float | None]:
    """Mean use of time and of memory over the side's GPUs, 0 to 1."""
    used, free = ({_gpu(sample): sample.value for sample in measured if sample.name == name} for name in (queries.GPU_USED, queries.GPU_FREE))
    memory = [used[gpu] / (used[gpu] + free[gpu]) for gpu in used if gpu in free and used[gpu] + free[gpu] > 0]
    return _mean([sample.value / 100 for sample in measured if sample.name == queries.GPU_BUSY]), _mean(memory)


def _gpu(sample: samples.Sample) -> samples.Key:
    return tuple(pair for pair in sample.key if pair[0] != "__name__")


def _first(measured: list[samples.Sample], names: Iterable[str]) -> list[float]:
    """Values of the first of the names that is there."""
    return next((found for name in names if (found := [sample.value for sample in measured if sample.name == name])), [])


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
