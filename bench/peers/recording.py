"""What Prometheus scraped of a trial, small enough to keep beside the code: the raw series, so that any later judge can ask them anything.

In memory, and as `read` returns it: {"scrapes": {pod: [seconds, …]}, "series": [{"metric": labels, "changes": [[scrape, value], …]}], …}: at the pod's
scrape of that index the value became this one; the first is always there. On disk a histogram is one family whose changes are increments per bucket:
a request then moves one number of each histogram, and not half its cumulative buckets.
"""
from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HISTOGRAMS = (
    "vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds", "vllm:request_time_per_output_token_seconds", "vllm:request_queue_time_seconds",
    "vllm:e2e_request_latency_seconds", "envoy_fairlane_ttft", "envoy_fairlane_duration",
)
OTHERS = (
    "vllm:time_to_first_token_seconds_count", "vllm:e2e_request_latency_seconds_count", "vllm:num_requests_running", "vllm:num_requests_waiting",
    "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total", "vllm:num_preemptions_total", "vllm:generation_tokens_total",
    "vllm:iteration_tokens_total_count", "vllm:request_success_total", "vllm:kv_cache_usage_perc", "envoy_fairlane_tries", "envoy_fairlane_failures",
    "envoy_fairlane_requests", "envoy_server_uptime",
)
NAMES = "|".join([*(f"{name}_bucket" for name in HISTOGRAMS), *OTHERS])   # what is asked for: a pattern of __name__

Document = Mapping[str, Any]
Series = dict[str, Any]


def thin(matrix: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The scrapes and series of the answer to a range-vector query."""
    items = list(matrix)
    times: dict[str, set[float]] = {}
    for item in items:
        times.setdefault(item["metric"]["pod"], set()).update(round(at, 3) for at, _ in item["values"])
    scrapes = {pod: sorted(own) for pod, own in sorted(times.items())}
    index = {pod: {at: number for number, at in enumerate(own)} for pod, own in scrapes.items()}
    return {"scrapes": scrapes, "series": [_thin(item, index[item["metric"]["pod"]]) for item in items]}


def _thin(item: Mapping[str, Any], index: Mapping[float, int]) -> Series:
    changes: list[list[float]] = []
    for at, text in item["values"]:
        value = float(text)
        if not changes or changes[-1][1] != value:
            changes.append([index[round(at, 3)], value])
    return {"metric": dict(item["metric"]), "changes": changes}


def write(path: Path, document: Document) -> None:
    """Keep a trial: one series or family a line."""
    packed = pack(document)
    lines = [f"{json.dumps(key)}: {_compact(value)}" for key, value in packed.items() if key not in ("families", "series")]
    lines += [f"{json.dumps(key)}: [\n{_lines(packed[key])}\n]" for key in ("families", "series")]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read(path: Path) -> dict[str, Any]:
    """A kept trial with its raw series."""
    return unpack(json.loads(path.read_text()))


def pack(document: Document) -> dict[str, Any]:
    """The form on disk: times as milliseconds since the scrape before, histograms as families."""
    groups: dict[str, list[Series]] = {}
    plain: list[Series] = []
    for series in document["series"]:
        if "le" in series["metric"]:
            groups.setdefault(_compact(_family(series["metric"])), []).append(series)
        else:
            plain.append({**series, "changes": [[scrape, _whole(value)] for scrape, value in series["changes"]]})
    scrapes = {pod: _steps(times) for pod, times in document["scrapes"].items()}
    return {**document, "scrapes": scrapes, "families": [_pack(group) for group in groups.values()], "series": plain}


def unpack(packed: Document) -> dict[str, Any]:
    """The inverse of `pack`, up to the order of the series."""
    scrapes = {pod: _times(steps) for pod, steps in packed["scrapes"].items()}
    series = [one for family in packed["families"] for one in _unpack(family)]
    kept = {key: value for key, value in packed.items() if key != "families"}
    return {**kept, "scrapes": scrapes, "series": [*series, *packed["series"]]}


def _pack(group: Sequence[Series]) -> dict[str, Any]:
    """One histogram: at each scrape that changed it, the buckets (by index) and by how much each one alone grew."""
    ordered = sorted(group, key=lambda series: float(series["metric"]["le"]))
    born = ordered[0]["changes"][0][0]
    if any(series["changes"][0][0] != born for series in ordered):
        raise ValueError(f"{_family(ordered[0]['metric'])}: its buckets do not begin at the same scrape")
    counts: list[dict[int, float]] = [dict(series["changes"]) for series in ordered]
    now = [0.0] * len(ordered)
    changes = []
    for scrape in sorted({scrape for each in counts for scrape in each}):
        after = [each.get(scrape, value) for each, value in zip(counts, now, strict=True)]
        grown = [new - old for new, old in zip(after, now, strict=True)]
        alone = [grown[0], *(high - low for low, high in itertools.pairwise(grown))]
        changes.append([scrape, [[bucket, _whole(value)] for bucket, value in enumerate(alone) if value]])
        now = after
    return {"metric": _family(ordered[0]["metric"]), "le": [series["metric"]["le"] for series in ordered], "changes": changes}


def _unpack(family: Mapping[str, Any]) -> list[Series]:
    edges = family["le"]
    series: list[Series] = [{"metric": {**family["metric"], "le": edge}, "changes": []} for edge in edges]
    alone = [0.0] * len(edges)
    for scrape, grown in family["changes"]:
        for bucket, value in grown:
            alone[bucket] += value
        total = 0.0
        for one, count in zip(series, alone, strict=True):
            total += count
            if not one["changes"] or one["changes"][-1][1] != total:
                one["changes"].append([scrape, total])
    return series


def _family(metric: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in metric.items() if name != "le"}


def _steps(times: Sequence[float]) -> list[int]:
    """Milliseconds: the first since the epoch, each other since the one before."""
    whole = [round(at * 1000) for at in times]
    return [whole[0], *(after - before for before, after in itertools.pairwise(whole))]


def _times(steps: Sequence[int]) -> list[float]:
    times, at = [], 0
    for step in steps:
        at += step
        times.append(at / 1000)
    return times


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _lines(values: Iterable[object]) -> str:
    return ",\n".join(map(_compact, values))
