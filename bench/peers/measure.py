"""What Prometheus knows of a trial: how many requests the canary had served by a moment, how many of them were bad, and the recording."""
from __future__ import annotations

import dataclasses
from typing import Any

import httpx

from . import recording, rules

_LOOKBACK = "15m"      # the canary's pod may be gone when its counts are read
_BUCKETS = "vllm:time_to_first_token_seconds_bucket"


@dataclasses.dataclass(frozen=True)
class Counts:
    """Of the canary, by a moment."""

    requests: int
    errors: int
    slow: int         # first tokens later than the edge

    @property
    def bad(self) -> int:
        """An error has no first token, so none is counted twice."""
        return self.errors + self.slow


class Prometheus:
    """The one that all of them ask."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, query: str, at: float) -> list[dict[str, Any]]:
        """The result of an instant query."""
        answer = httpx.get(f"{self._url}/api/v1/query", params={"query": query, "time": f"{at:.3f}"}, timeout=60).raise_for_status().json()
        return list(answer["data"]["result"])

    def number(self, query: str, at: float) -> float:
        """The one value of an instant query; 0 where there is none."""
        result = self.ask(query, at)
        return float(result[0]["value"][1]) if result else 0.0

    def slow_edge(self, target: rules.Target, at: float, seconds: int) -> float:
        """The bucket edge at or over 1.5 times the stable's p99 of the `seconds` before: a first token later than that is a bad one. Seconds."""
        own = f'{_BUCKETS}{{namespace="{target.namespace}",fairlane_revision="{target.stable}"}}'
        p99 = self.number(f"histogram_quantile(0.99, sum by (le) (increase({own}[{seconds}s])))", at)
        edges = [float(item["metric"]["le"]) for item in self.ask(f"sum by (le) ({own})", at)]
        return min(edge for edge in edges if edge >= rules.RATIO * p99)

    def counts(self, target: rules.Target, edge: float, at: float) -> Counts:
        """What the canary had served by `at`; tries that a retry hid from the client are the canary's too."""
        labels = f'namespace="{target.namespace}",fairlane_revision="{target.canary}"'
        first = self._sum(f"vllm:time_to_first_token_seconds_count{{{labels}}}", at)
        early = self._sum(f'{_BUCKETS}{{{labels},le="{edge:g}"}}', at) or self._sum(f'{_BUCKETS}{{{labels},le="{edge:.1f}"}}', at)
        tries, failures = (self._sum(f"envoy_fairlane_{name}{{{labels}}}", at) for name in ("tries", "failures"))
        return Counts(round(tries), round(failures), round(first - early))

    def record(self, namespace: str, service: str, since: float, until: float) -> dict[str, Any]:
        """The raw series of the engines and routers."""
        seconds = round(until - since)
        selector = f'{{namespace="{namespace}",pod=~"{service}-.*",__name__=~"{recording.NAMES}"}}'
        return recording.thin(self.ask(f"{selector}[{seconds}s]", until))

    def _sum(self, selector: str, at: float) -> float:
        return self.number(f"sum(last_over_time({selector}[{_LOOKBACK}]))", at)
