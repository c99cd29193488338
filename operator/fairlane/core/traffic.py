"""What a lane's users send, for synthetic load: how often now, and how long their prompts and answers were before the rollout."""

import dataclasses
import datetime
import json
import math
from collections.abc import Mapping, Sequence

from .judge import histograms, queries, samples, types
from .routing import metrics

RATE_SECONDS = 300
LEAST_REQUESTS = 50                   # with fewer in the hour before the rollout the lengths of the day before it count
LENGTHS = {"prompts": "vllm:request_prompt_tokens_bucket", "answers": "vllm:request_generation_tokens_bucket"}
RANKS = 20
_SPANS = ("1h", "1d")


@dataclasses.dataclass(frozen=True)
class Traffic:
    """One lane's. Lengths are histograms in tokens; None: there were too few requests, or nobody asked."""

    rate: float                                  # users' requests per second, lately
    synthetic: float                             # synthetic requests since the rollout began
    prompts: types.Histogram | None = None
    answers: types.Histogram | None = None


def asked(window: queries.Window, now: datetime.datetime, began: datetime.datetime, *, lengths: bool) -> tuple[queries.Query, ...]:
    """Return the queries; those of the lengths, which never change in a rollout, only where they are wanted."""
    routers = {"namespace": window.namespace, metrics.LANE: window.lane}
    since = max(math.ceil((now - began).total_seconds()), 60)
    rate = f"sum(rate({_selector(metrics.REQUESTS, routers, window.routers, window.labels)}[{RATE_SECONDS}s]))"
    synthetic = f"sum(increase({_selector(metrics.SYNTHETIC_REQUESTS, routers, window.routers, window.labels)}[{since}s]))"
    found = [queries.Query("rate", rate, None), queries.Query("synthetic", synthetic, None)]
    if lengths:
        found += [_lengths(window, began, name, span) for name in LENGTHS for span in _SPANS]
    return tuple(found)


def _lengths(window: queries.Window, began: datetime.datetime, name: str, span: str) -> queries.Query:
    selector = _selector(LENGTHS[name], {"namespace": window.namespace}, window.pods(window.stable), window.labels)
    return queries.Query(f"{name}_{span}", f"sum by (le) (increase({selector}[{span}]))", began.timestamp())


def _selector(metric: str, own: Mapping[str, str], pods: str, extra: Mapping[str, str]) -> str:
    """Strings of PromQL are escaped as JSON's are."""
    quoted = [f"{label}={json.dumps(value, ensure_ascii=False)}" for label, value in (*own.items(), *sorted(extra.items()))]
    return f"{metric}{{{','.join([*quoted, f'pod=~{json.dumps(pods)}'])}}}"


def assemble(results: Mapping[str, Sequence[samples.Sample]]) -> Traffic:
    """Return the traffic from the samples of each query; a lane without series has no users."""
    rate, synthetic = (sum(sample.value for sample in results[name]) for name in ("rate", "synthetic"))
    prompts, answers = (_histogram(results, name) for name in LENGTHS)
    return Traffic(rate, synthetic, prompts, answers)


def _histogram(results: Mapping[str, Sequence[samples.Sample]], name: str) -> types.Histogram | None:
    """The lengths of the hour, or of the day where they are too few; None where those are too few too."""
    for span in _SPANS:
        buckets = sorted((float(sample.labels["le"]), sample.value) for sample in results.get(f"{name}_{span}", ()) if "le" in sample.labels)
        if buckets and buckets[-1][1] >= LEAST_REQUESTS:
            return types.Histogram(tuple(edge for edge, _ in buckets), tuple(count for _, count in buckets))
    return None


def ranked(histogram: types.Histogram) -> tuple[int, ...]:
    """Return the lengths at the middle of each twentieth of the observations, of which there are some; in tokens."""
    found = [histograms.quantile(histogram, (rank + 0.5) / RANKS) for rank in range(RANKS)]
    return tuple(max(1, round(length)) for length in found if length is not None)
