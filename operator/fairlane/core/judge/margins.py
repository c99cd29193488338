"""How much worse than the stable is no harm, and how much is still a Pass."""

import dataclasses

from ...api import rollouts
from ...api import spec as specs

OF = {
    "ttft": rollouts.Metric.TTFT,
    "router_ttft": rollouts.Metric.TTFT,
    "itl": rollouts.Metric.ITL,
    "tpot": rollouts.Metric.ITL,
    "queue": rollouts.Metric.QUEUE,
    "e2e": rollouts.Metric.E2E,
    "router_duration": rollouts.Metric.DURATION,
    "errors": rollouts.Metric.ERRORS,
}
"""The tolerance that is for each metric of the judge."""

_LEAST_PASS = 0.005     # of the requests


@dataclasses.dataclass(frozen=True)
class Margins:
    """Allowed is a share of at most `tau` times the stable's, plus `delta`; a Pass shows less than `tau_pass` times it, plus `delta_pass`."""

    tau: float = 1.25
    delta: float = 0.001
    delta_pass: float = _LEAST_PASS

    @property
    def tau_pass(self) -> float:
        """Wider than what is allowed: to show that something is exactly allowed would take for ever."""
        return max(1.5, self.tau + 0.25)

    def of_each(self, requests: float) -> "Margins":
        """The same share of the requests, where each observation stands for so many of them."""
        return dataclasses.replace(self, delta=self.delta * requests, delta_pass=self.delta_pass * requests)


def of(metric: str, analysis: specs.Analysis) -> Margins:
    """Return the margins of a metric: its tolerance, else the defaults."""
    for tolerance in analysis.tolerance:
        if tolerance.metric is OF[metric]:
            share = float(tolerance.share)
            return Margins(float(tolerance.factor), share, max(_LEAST_PASS, 5 * share))    # as wide in proportion
    return Margins()
