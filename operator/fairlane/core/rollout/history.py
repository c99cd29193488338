"""The history in status: at most ten rollouts, each small enough for etcd to keep ten of them."""

from collections.abc import Iterator

from ...api import status as statuses
from . import view

ROLLOUTS = 10
BYTES = 8192     # of one record as JSON
_WORDS = 160     # characters of an old decision's message where there is no room for more


def remembered(history: list[statuses.RolloutRecord], records: list[statuses.RolloutRecord]) -> list[statuses.RolloutRecord]:
    """Return the history, latest first, of at most ten rollouts."""
    return [*reversed(records), *history][:ROLLOUTS]


def fitted(whole: statuses.RolloutRecord) -> statuses.RolloutRecord:
    """Return the record, without as much of its oldest decisions as it takes to fit; how it ended is kept longest."""
    shorter = whole
    for decisions in _shortened(whole.decisions):
        if size(shorter) <= BYTES:
            break
        shorter = whole.model_copy(update={"decisions": decisions})
    return shorter


def size(value: statuses.RolloutRecord) -> int:
    """Bytes of a record as compact JSON, as etcd keeps it."""
    return len(value.model_dump_json(by_alias=True, exclude_none=True).encode())


def plain(decision: statuses.Decision) -> statuses.Decision:
    """Return a decision whose evidence has no distribution."""
    if decision.evidence is None or decision.evidence.distribution is None:
        return decision
    return decision.model_copy(update={"evidence": decision.evidence.model_copy(update={"distribution": None})})


def _shortened(decisions: list[statuses.Decision]) -> Iterator[list[statuses.Decision]]:
    """Ever shorter forms: numbers of the oldest first, then their words, then the last one's distribution, then the oldest themselves."""
    kept = list(decisions)
    for index, item in enumerate(kept[:-1]):
        kept[index] = item.model_copy(update={"evidence": None})
        yield list(kept)
    for index, item in enumerate(kept[:-1]):
        kept[index] = item.model_copy(update={"message": view.clipped(item.message, _WORDS)})
        yield list(kept)
    kept[-1:] = [plain(item) for item in kept[-1:]]
    yield list(kept)
    while kept:
        kept.pop(0)
        yield list(kept)
