"""The sentence and the numbers behind a verdict."""

import dataclasses

from ...api import status
from .. import clock
from . import histograms, shares, types


@dataclasses.dataclass(frozen=True)
class Finding:
    """Harm that a check has shown: which metric over which edge (seconds), both shares, what was allowed, and by which rule."""

    reason: str
    metric: str
    edge: float | None
    stable: shares.Share
    canary: shares.Share
    stable_bound: float
    allowed: float
    rule: str

    @property
    def sentence(self) -> str:
        """The finding as people read it."""
        name = shares.NAMES[self.metric]
        stable, canary = shares.percent(self.stable.value), shares.percent(self.canary.value)
        limits = f"at least {shares.percent_down(self.canary.lower)} with 99 % confidence, allowed {shares.percent(self.allowed)}"
        if self.metric == "itl" and self.edge is not None:
            gaps = f"{canary} of the gaps between tokens in {self.canary.total:.0f} canary requests were longer than {shares.seconds(self.edge)}"
            return f"{name}: {gaps}, of the stable's {stable}; {limits}"
        verb = "failed" if self.edge is None else f"took longer than {shares.seconds(self.edge)}"
        return f"{name}: {self.canary.hits:.0f} of {self.canary.total:.0f} canary requests ({canary}) {verb}, of the stable's {stable}; {limits}"


def record(evidence: types.Evidence, finding: Finding | None = None) -> status.EvidenceRecord:
    """Return what status keeps: both sides' numbers and, where there is one, the finding."""
    sides = status.EvidenceRecord(
        since=clock.text(evidence.since),
        until=clock.text(evidence.until),
        stable=_track(evidence.stable),
        canary=_track(evidence.canary),
    )
    if finding is None:
        return sides
    return sides.model_copy(
        update={
            "metric": finding.metric,
            "edge": shares.seconds(finding.edge) if finding.edge is not None else "",
            "canary_share": f"{finding.canary.value:.4f}",
            "stable_share": f"{finding.stable.value:.4f}",
            "canary_bound": f"{finding.canary.lower:.4f}",
            "stable_bound": f"{finding.stable_bound:.4f}",
            "rule": finding.rule,
        }
    )


def summary(kept: status.EvidenceRecord) -> str:
    """Say what a window without harm shows."""
    stable, canary = kept.stable, kept.canary
    counts = f"no harm seen in {canary.requests} canary requests ({canary.errors} failed) beside {stable.requests} of the stable ({stable.errors} failed)"
    if canary.ttft_p99_ms is None or stable.ttft_p99_ms is None:
        return counts
    return f"{counts}; TTFT p99 {shares.seconds(canary.ttft_p99_ms / 1000)} against {shares.seconds(stable.ttft_p99_ms / 1000)}"


def _track(samples: types.TrackSamples) -> status.TrackEvidence:
    return status.TrackEvidence(
        revision=samples.revision,
        requests=round(samples.requests),
        errors=round(samples.errors),
        replicas=samples.replicas,
        ttft_p50_ms=_milliseconds(samples, "ttft", 0.5),
        ttft_p99_ms=_milliseconds(samples, "ttft", 0.99),
        itl_p99_ms=_milliseconds(samples, "itl", 0.99),
        queue_p99_ms=_milliseconds(samples, "queue", 0.99),
        e2e_p99_ms=_milliseconds(samples, "e2e", 0.99),
    )


def _milliseconds(samples: types.TrackSamples, metric: str, rank: float) -> int | None:
    histogram = samples.histograms.get(metric)
    value = histograms.quantile(histogram, rank) if histogram else None
    return None if value is None else round(value * 1000)
