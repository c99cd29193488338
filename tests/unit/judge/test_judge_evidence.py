"""From samples to evidence."""

import datetime
import math

import pytest

from fairlane.core.judge import evidence, queries, types

SINCE = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
UNTIL = SINCE + datetime.timedelta(minutes=10)
WINDOW = queries.Window("assistant", "prod", "chat", "old-1", "new-1", SINCE, UNTIL)
OLD, OLD_TOO, NEW = "assistant-chat-old-1-7f9c-abcde", "assistant-chat-old-1-7f9c-fghij", "assistant-chat-new-1-55d-xyz01"
ROUTER, ROUTER_TOO = "assistant-router-6b-aaaaa", "assistant-router-6b-bbbbb"
NAMES = [query.name for query in queries.queries(WINDOW)]

Sample = evidence.Sample
Samples = list[Sample]


def ttft(pod: str, counts: tuple[float, float, float], **labels: str) -> Samples:
    """Buckets 0.1 s, 1 s and infinity."""
    name = labels.pop("name", "vllm:time_to_first_token_seconds_bucket")
    return [Sample({"__name__": name, "pod": pod, "engine": "0", "le": le, **labels}, count) for le, count in zip(("0.1", "1.0", "+Inf"), counts, strict=True)]


def tries(pod: str, revision: str, count: float, name: str = "envoy_fairlane_tries", code: str = "200", flags: str = "-") -> Sample:
    return Sample({"__name__": name, "pod": pod, "fairlane_lane": "chat", "fairlane_revision": revision, "code": code, "flags": flags}, count)


def seen(*pods: str, ago: float = 5.0) -> Samples:
    return [Sample({"pod": pod}, UNTIL.timestamp() - ago) for pod in pods]


def results(**given: Samples) -> dict[str, Samples]:
    """The samples by query; the router is scraped and idle where the case says nothing of it."""
    return {name: [] for name in NAMES} | {"router_end": [tries(ROUTER, "old-1", 0)]} | given


def counts(side: types.TrackSamples, metric: str = "ttft") -> tuple[float, ...] | None:
    histogram = side.histograms.get(metric)
    return histogram.counts if histogram else None


def assembled(given: dict[str, Samples]) -> types.Evidence:
    made = evidence.assemble(WINDOW, given, (2, 1))
    assert isinstance(made, types.Evidence)
    return made


@pytest.mark.parametrize(
    ("given", "stable", "canary"),
    [
        pytest.param(
            results(
                engine_start=ttft(OLD, (10, 20, 20)),
                engine_end=ttft(OLD, (15, 40, 42)) + ttft(NEW, (1, 2, 3)),
                engine_seen=seen(OLD, NEW),
            ),
            (5, 20, 22),
            (1, 2, 3),
            id="a series born in the window counts from zero",
        ),
        pytest.param(
            results(
                engine_start=ttft(OLD, (10, 20, 20)) + ttft(OLD_TOO, (5, 5, 5)),
                engine_end=ttft(OLD, (15, 40, 42)) + ttft(OLD_TOO, (6, 7, 8)),
                engine_seen=seen(OLD),
            ),
            (6, 22, 25),
            None,
            id="the pods of a revision add up, one that vanished with what it had",
        ),
        pytest.param(
            results(engine_start=ttft(OLD, (10, 20, 20)), engine_end=ttft(OLD, (3, 4, 5)), engine_seen=seen(OLD)),
            (3, 4, 5),
            None,
            id="a counter lower than before was reset",
        ),
        pytest.param(
            results(
                engine_start=ttft(OLD, (10, 20, 20)),
                engine_end=ttft(OLD, (30, 40, 50)),
                engine_resets=[Sample({"pod": OLD}, 1)],
                engine_seen=seen(OLD),
            ),
            (30, 40, 50),
            None,
            id="a reset that grew past its old value counts from zero",
        ),
        pytest.param(
            results(engine_end=ttft(OLD, (1, 2, 3), engine="0") + ttft(OLD, (1, 2, 3), engine="1"), engine_seen=seen(OLD)),
            (2, 4, 6),
            None,
            id="the engines of a pod add up",
        ),
        pytest.param(
            results(engine_end=ttft(OLD, (1, 2, 3)) + ttft(NEW, (1, 2, 3)), engine_seen=seen(OLD) + seen(NEW, ago=200)),
            (1, 2, 3),
            None,
            id="the latencies of a side without a new sample for two minutes are unknown",
        ),
        pytest.param(
            results(engine_end=ttft(OLD, (3, 2, 3)), engine_seen=seen(OLD)),
            (3, 3, 3),
            None,
            id="buckets caught in mid-scrape never fall from edge to edge",
        ),
    ],
)
def test_latencies(given: dict[str, Samples], stable: tuple[float, ...] | None, canary: tuple[float, ...] | None) -> None:
    made = assembled(given)
    assert (counts(made.stable), counts(made.canary)) == (stable, canary)


def test_requests_and_errors_are_the_routers_tries_by_revision() -> None:
    made = assembled(
        results(
            engine_end=ttft(OLD, (1, 2, 3)),
            engine_seen=seen(OLD),
            router_start=[tries(ROUTER, "old-1", 100)],
            router_end=[
                tries(ROUTER, "old-1", 190),
                tries(ROUTER_TOO, "old-1", 10),
                tries(ROUTER, "new-1", 7),
                tries(ROUTER, "new-1", 3, code="0", flags="UF"),
                tries(ROUTER, "new-1", 3, "envoy_fairlane_failures", "0", "UF"),
            ],
        )
    )
    assert (made.stable.requests, made.stable.errors, made.stable.replicas) == (100, 0, 2)
    assert (made.canary.requests, made.canary.errors, made.canary.replicas) == (10, 3, 1)


def test_the_routers_milliseconds_become_seconds() -> None:
    buckets = [
        Sample({"__name__": "envoy_fairlane_ttft_bucket", "pod": ROUTER, "fairlane_revision": "old-1", "le": le}, count)
        for le, count in (("10", 1.0), ("250", 5.0), ("+Inf", 6.0))
    ]
    made = assembled(results(engine_end=ttft(OLD, (1, 2, 3)), engine_seen=seen(OLD), router_end=buckets))
    assert made.stable.histograms["router_ttft"] == types.Histogram((0.01, 0.25, math.inf), (1.0, 5.0, 6.0))


def test_an_older_vllm_names_its_token_gaps_otherwise() -> None:
    old = ttft(OLD, (1, 2, 3)) + ttft(OLD, (4, 5, 6), name="vllm:time_per_output_token_seconds_bucket")
    both = old + ttft(OLD, (7, 8, 9), name="vllm:inter_token_latency_seconds_bucket")
    found = [counts(assembled(results(engine_end=samples, engine_seen=seen(OLD))).stable, "itl") for samples in (old, both)]
    assert found == [(4, 5, 6), (7, 8, 9)]


@pytest.mark.parametrize(
    ("given", "reason", "words"),
    [
        pytest.param(results(router_end=[]), "NoSeries", "Prometheus has no series of the pods assistant-chat-old-1-", id="nothing is scraped"),
        pytest.param(
            results(engine_end=ttft(OLD, (1, 2, 3)), engine_seen=seen(OLD), router_end=[]),
            "NoSeries",
            "Prometheus has no envoy_fairlane_tries of the pods assistant-router-",
            id="the router is not scraped",
        ),
        pytest.param(
            results(engine_end=ttft(OLD, (1, 2, 3), job="a") + ttft(OLD, (1, 2, 3), job="b"), engine_seen=seen(OLD)),
            "DuplicateSeries",
            f'Prometheus has two series for pod {OLD} (job="a" and job="b"): scrape it once, or choose one with metrics.prometheus.labels',
            id="a pod is scraped twice",
        ),
    ],
)
def test_unavailable(given: dict[str, Samples], reason: str, words: str) -> None:
    made = evidence.assemble(WINDOW, given)
    assert isinstance(made, types.Unavailable)
    assert made.reason == reason
    assert made.message.startswith(words)
