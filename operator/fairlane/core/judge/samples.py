"""Series as the metrics store answers them."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ..routing import metrics as router


@dataclasses.dataclass(frozen=True)
class Sample:
    """One series' value."""

    labels: Mapping[str, str]
    value: float

    @property
    def name(self) -> str:
        """The metric's name; empty where a function dropped it."""
        return self.labels.get("__name__", "")

    @property
    def pod(self) -> str:
        """The pod that it was scraped from."""
        return self.labels.get("pod", "")

    @property
    def key(self) -> "Key":
        """What tells this series from all others."""
        return tuple(sorted(self.labels.items()))


Key = tuple[tuple[str, str], ...]
Results = Mapping[str, Sequence[Sample]]

# Labels by which a pod itself tells its series apart; any other label comes from how it is scraped.
_OWN_LABELS = frozenset(
    {"__name__", "le", "namespace", "pod", "engine", "model_name", "finished_reason"}
    | {router.LANE, router.REVISION, router.CODE, router.FLAGS, router.SYNTHETIC}
)


def pods(found: Iterable[Sample]) -> set[str]:
    """The pods that have a series."""
    return {sample.pod for sample in found}


def duplicate(found: Iterable[Sample]) -> str:
    """Say which pod is scraped twice; empty where none is."""
    sources: dict[str, Key] = {}
    for sample in found:
        source = tuple(pair for pair in sample.key if pair[0] not in _OWN_LABELS)
        known = sources.setdefault(sample.pod, source)
        if known != source:
            first, second = (", ".join(f'{name}="{value}"' for name, value in side) or "no more labels" for side in _difference(known, source))
            remedy = "scrape it once, or choose one with metrics.prometheus.labels"
            return f"Prometheus has two series for pod {sample.pod} ({first} and {second}): {remedy}"
    return ""


def _difference(first: Key, second: Key) -> tuple[Key, Key]:
    return tuple(pair for pair in first if pair not in second), tuple(pair for pair in second if pair not in first)
