"""From samples to a tick's evidence."""

import dataclasses
import datetime
import itertools
import math

import pytest

from fairlane.core.judge import evidence, queries, samples, types

BEGAN = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
LAST = BEGAN + datetime.timedelta(minutes=5)
UNTIL = LAST + datetime.timedelta(seconds=10)
OLD, OLD_TOO, NEW = "assistant-chat-old-1-7f9c-abcde", "assistant-chat-old-1-7f9c-fghij", "assistant-chat-new-1-55d-xyz01"
ROUTER, ROUTER_TOO = "assistant-router-6b-aaaaa", "assistant-router-6b-bbbbb"
SAMPLED = LAST.timestamp() - 3
CURSOR = types.Cursor(LAST, (NEW, OLD, OLD_TOO, ROUTER), (SAMPLED, SAMPLED, SAMPLED), BEGAN)
WINDOW = queries.Window("assistant", "prod", "chat", "old-1", "new-1", CURSOR)
FIRST = dataclasses.replace(WINDOW, cursor=None, began=BEGAN)
CREATED = dict.fromkeys((OLD, OLD_TOO, NEW, ROUTER), BEGAN - datetime.timedelta(minutes=1))
NEWBORN = LAST + datetime.timedelta(seconds=2)

Sample = samples.Sample
Samples = list[Sample]


def ttft(pod: str, counts: tuple[float, float, float], **labels: str) -> Samples:
    """Buckets 0.1 s, 1 s and infinity."""
    name = labels.pop("name", "vllm:time_to_first_token_seconds_bucket")
    return [Sample({"__name__": name, "pod": pod, "engine": "0", "le": le, **labels}, count) for le, count in zip(("0.1", "1.0", "+Inf"), counts, strict=True)]


def tries(pod: str, revision: str, count: float, name: str = "envoy_fairlane_tries", code: str = "200", flags: str = "-") -> Sample:
    return Sample({"__name__": name, "pod": pod, "fairlane_lane": "chat", "fairlane_revision": revision, "code": code, "flags": flags}, count)


def at(*pods: str, value: float) -> Samples:
    return [Sample({"pod": pod}, value) for pod in pods]


def results(**given: Samples) -> dict[str, Samples]:
    """The samples by query: all pods were there at the last tick and have a sample since, the router is idle, where the case says nothing else."""
    now = at(OLD, OLD_TOO, NEW, ROUTER, value=UNTIL.timestamp() - 3)
    common = {"router_end": [tries(ROUTER, "old-1", 0)], "known_prev": at(OLD, OLD_TOO, NEW, ROUTER, value=1), "sampled": now}
    return {query.name: [] for query in queries.queries(WINDOW, UNTIL)} | common | given


def assembled(given: dict[str, Samples], window: queries.Window = WINDOW, created: dict[str, datetime.datetime] | None = None) -> types.Evidence:
    made = evidence.assemble(window, UNTIL, given, (2, 1), CREATED | (created or {}))
    assert isinstance(made, types.Evidence), made
    return made


def counts(side: types.TrackSamples, metric: str = "ttft") -> dict[str, tuple[float, ...]]:
    return {pod.pod: pod.histograms[metric].counts for pod in side.pods if metric in pod.histograms}


@pytest.mark.parametrize(
    ("given", "created", "expected"),
    [
        pytest.param(
            results(engine_prev=ttft(OLD, (10, 20, 20)), engine_end=ttft(OLD, (15, 40, 42))),
            {},
            {OLD: (5, 20, 22)},
            id="a pod that stayed counts the difference",
        ),
        pytest.param(
            results(engine_end=ttft(OLD, (15, 40, 42))),
            {},
            {OLD: (15, 40, 42)},
            id="a series born in the tick, of a pod that was there, counts from zero",
        ),
        pytest.param(
            results(engine_end=ttft("assistant-chat-old-1-7f9c-newer", (1, 2, 3))),
            {"assistant-chat-old-1-7f9c-newer": NEWBORN},
            {"assistant-chat-old-1-7f9c-newer": (1, 2, 3)},
            id="a pod created since the evidence began counts from zero",
        ),
        pytest.param(
            results(engine_end=ttft("assistant-chat-old-1-7f9c-older", (1, 2, 3))),
            {"assistant-chat-old-1-7f9c-older": BEGAN - datetime.timedelta(days=1)},
            {},
            id="the first sight of an older pod is its baseline",
        ),
        pytest.param(
            results(engine_end=ttft("assistant-chat-old-1-7f9c-other", (1, 2, 3))),
            {},
            {},
            id="a pod whose age nobody knows any more has its baseline too",
        ),
        pytest.param(
            results(
                engine_prev=ttft(OLD, (10, 20, 20)) + ttft(OLD_TOO, (5, 5, 5)),
                engine_end=ttft(OLD, (15, 40, 42)) + ttft(OLD_TOO, (6, 7, 8)),
                sampled=at(OLD, NEW, ROUTER, value=UNTIL.timestamp() - 3),
            ),
            {},
            {OLD: (5, 20, 22), OLD_TOO: (1, 2, 3)},
            id="a pod that went counts up to its last value",
        ),
        pytest.param(
            results(engine_prev=ttft(OLD, (10, 20, 20)), engine_end=ttft(OLD, (3, 4, 5))),
            {},
            {OLD: (3, 4, 5)},
            id="a counter lower than before was reset",
        ),
        pytest.param(
            results(
                engine_prev=ttft(OLD, (10, 20, 20)),
                engine_end=ttft(OLD, (30, 40, 50)),
                resets_prev=at(OLD, value=2),
                resets_end=at(OLD, value=3),
            ),
            {},
            {OLD: (30, 40, 50)},
            id="a reset in the tick that grew past its old value counts from zero",
        ),
        pytest.param(
            results(
                engine_prev=ttft(OLD, (10, 20, 20)),
                engine_end=ttft(OLD, (30, 40, 50)),
                resets_prev=at(OLD, value=3),
                resets_end=at(OLD, value=3),
            ),
            {},
            {OLD: (20, 20, 30)},
            id="a reset before the tick is none in it",
        ),
        pytest.param(
            results(
                engine_prev=ttft(OLD, (1, 1, 1), engine="0") + ttft(OLD, (1, 1, 1), engine="1"),
                engine_end=ttft(OLD, (2, 3, 4), engine="0") + ttft(OLD, (2, 3, 4), engine="1"),
            ),
            {},
            {OLD: (2, 4, 6)},
            id="the engines of a pod add up",
        ),
        pytest.param(results(engine_end=ttft(OLD, (3, 2, 3))), {}, {OLD: (3, 3, 3)}, id="buckets caught in mid-scrape never fall from edge to edge"),
    ],
)
def test_increments(given: dict[str, Samples], created: dict[str, datetime.datetime], expected: dict[str, tuple[float, ...]]) -> None:
    assert counts(assembled(given, created=created).stable) == expected


def test_a_scrape_gap_is_bridged_by_the_cumulative_counts() -> None:
    values = [(10, 20, 20), (11, 22, 23), (15, 40, 42)]
    both = [assembled(results(engine_prev=ttft(OLD, first), engine_end=ttft(OLD, last))) for first, last in itertools.pairwise(values)]
    at_once = assembled(results(engine_prev=ttft(OLD, values[0]), engine_end=ttft(OLD, values[2])))
    added = tuple(sum(parts) for parts in zip(*(counts(made.stable)[OLD] for made in both), strict=True))
    assert counts(at_once.stable)[OLD] == added == (5, 20, 22)


def test_two_versions_with_different_buckets_keep_their_own() -> None:
    other = [Sample({"__name__": "vllm:time_to_first_token_seconds_bucket", "pod": NEW, "le": le}, count) for le, count in (("0.5", 1.0), ("+Inf", 4.0))]
    made = assembled(results(engine_end=ttft(OLD, (1, 2, 3)) + other))
    edges = [side.pods[0].histograms["ttft"].edges for side in (made.stable, made.canary)]
    assert edges == [(0.1, 1.0, math.inf), (0.5, math.inf)]


def test_an_older_vllm_names_its_token_gaps_otherwise() -> None:
    old = ttft(OLD, (4, 5, 6), name="vllm:time_per_output_token_seconds_bucket")
    both = ttft(NEW, (4, 5, 6), name="vllm:time_per_output_token_seconds_bucket") + ttft(NEW, (7, 8, 9), name="vllm:inter_token_latency_seconds_bucket")
    made = assembled(results(engine_end=old + both))
    assert (counts(made.stable, "itl"), counts(made.canary, "itl")) == ({OLD: (4, 5, 6)}, {NEW: (7, 8, 9)})


def test_requests_and_errors_are_the_routers_tries_by_revision() -> None:
    failed = tries(ROUTER, "new-1", 3, "envoy_fairlane_failures", "0", "UF")
    given = results(
        router_prev=[tries(ROUTER, "old-1", 100)],
        router_end=[
            tries(ROUTER, "old-1", 190),
            tries(ROUTER_TOO, "old-1", 10),
            tries(ROUTER, "new-1", 7),
            tries(ROUTER, "new-1", 3, code="0", flags="UF"),
            failed,
        ],
    )
    made = assembled(given, created={ROUTER_TOO: NEWBORN})
    assert (made.stable.requests, made.stable.errors, made.stable.replicas) == (100, 0, 2)
    assert (made.canary.requests, made.canary.errors, made.canary.replicas) == (10, 3, 1)


def test_a_router_that_restarts_counts_only_what_it_counted_again() -> None:
    def duration(name: str, count: float, **labels: str) -> Sample:
        return Sample({"__name__": f"envoy_fairlane_duration_{name}", "pod": ROUTER, "fairlane_lane": "chat", "fairlane_revision": "old-1", **labels}, count)

    given = results(
        router_prev=[tries(ROUTER, "old-1", 5), tries(ROUTER, "old-1", 40, code="503"), duration("bucket", 5, le="+Inf")],
        router_end=[tries(ROUTER, "old-1", 9), tries(ROUTER, "old-1", 41, code="503"), duration("bucket", 9, le="+Inf")],
        router_live=[tries(ROUTER, "old-1", 9), duration("count", 9)],
        resets_end=at(ROUTER, value=1),
    )
    made = assembled(given)
    assert (made.stable.requests, made.stable.histograms["router_duration"].counts) == (9 + 1, (9,))


def test_the_routers_milliseconds_become_seconds() -> None:
    buckets = [
        Sample({"__name__": "envoy_fairlane_ttft_bucket", "pod": ROUTER, "fairlane_revision": "old-1", "le": le}, count)
        for le, count in (("10", 1.0), ("250", 5.0), ("+Inf", 6.0))
    ]
    made = assembled(results(router_end=buckets))
    assert made.stable.histograms["router_ttft"] == types.Histogram((0.01, 0.25, math.inf), (1.0, 5.0, 6.0))


def test_the_next_tick_begins_where_this_one_ends() -> None:
    given = results(engine_end=ttft(OLD, (1, 2, 3)), sampled=at(OLD, NEW, ROUTER, ROUTER_TOO, value=UNTIL.timestamp() - 3))
    made = assembled(given)
    newest = UNTIL.timestamp() - 3
    assert (made.since, made.until, made.fresh, made.latencies) == (LAST, UNTIL, True, (True, True))
    assert made.cursor == types.Cursor(UNTIL, (NEW, OLD, OLD_TOO, ROUTER, ROUTER_TOO), (newest, newest, newest), BEGAN)


def test_a_sides_context_is_of_its_own_pods() -> None:
    def gauge(name: str, value: float, **labels: str) -> Sample:
        return Sample({"__name__": name, **labels}, value)

    given = results(
        engine_end=[gauge("vllm:generation_tokens_total", 500, pod=OLD), gauge("vllm:generation_tokens_total", 70, pod=NEW)],
        gauges=[gauge("vllm:num_requests_running", count, pod=pod) for pod, count in ((OLD, 3), (OLD_TOO, 4), (NEW, 1))],
        gpus=[gauge("DCGM_FI_DEV_GPU_UTIL", 50, pod=OLD), gauge("DCGM_FI_DEV_GPU_UTIL", 25, pod="dcgm-exporter-x", exported_pod=NEW)],
        router_end=[
            tries(ROUTER, "new-1", 5, "envoy_fairlane_failures", "503"),
            tries(ROUTER, "new-1", 2, "envoy_fairlane_requests", "503"),
            tries(ROUTER, "new-1", 4, "envoy_fairlane_requests", "200", "DC"),
        ],
    )
    made = assembled(given)
    assert made.stable.context == types.Context(running=7, generated=500, gpu_utilization=0.5)
    assert made.canary.context == types.Context(running=1, generated=70, gpu_utilization=0.25, hidden=3, aborted=4)


def test_a_pod_that_exists_stays_in_the_cursor_while_it_is_not_scraped() -> None:
    others = at(OLD, NEW, ROUTER, value=UNTIL.timestamp())
    made = assembled(results(engine_end=ttft(OLD, (1, 2, 3)), sampled=others))
    assert made.cursor.pods == (NEW, OLD, OLD_TOO, ROUTER)


def test_a_pod_that_was_not_scraped_for_longer_than_prometheus_is_asked_is_not_taken_for_new() -> None:
    given = results(engine_end=ttft(OLD_TOO, (1, 2, 3)), known_prev=at(OLD, NEW, ROUTER, value=1))
    made = evidence.assemble(WINDOW, UNTIL, given, (2, 1), {**CREATED, OLD_TOO: NEWBORN})
    assert isinstance(made, types.Unavailable)
    assert (made.reason, made.message.startswith(f"Prometheus no longer has the series of {OLD_TOO} as of 12:05:00")) == ("HistoryLost", True), made.message


def test_a_pod_that_is_gone_leaves_the_cursor() -> None:
    created = {pod: born for pod, born in CREATED.items() if pod != OLD_TOO}
    made = evidence.assemble(WINDOW, UNTIL, results(engine_end=ttft(OLD, (1, 2, 3)), sampled=at(OLD, NEW, ROUTER, value=UNTIL.timestamp())), (1, 1), created)
    assert isinstance(made, types.Evidence)
    assert made.cursor.pods == (NEW, OLD, ROUTER)


def sampled(stable: float, canary: float, routers: float) -> Samples:
    """Newest samples that many seconds before the tick's end."""
    end = UNTIL.timestamp()
    return at(OLD, value=end - stable) + at(NEW, value=end - canary) + at(ROUTER, value=end - routers)


UNCHANGED = UNTIL.timestamp() - SAMPLED


@pytest.mark.parametrize(
    ("found", "before", "replicas", "fresh", "latencies"),
    [
        pytest.param(sampled(3, 3, 3), CURSOR.sampled, (2, 1), True, (True, True), id="all have new samples"),
        pytest.param(sampled(UNCHANGED, 3, 3), CURSOR.sampled, (2, 1), False, (True, True), id="the stable has none"),
        pytest.param(sampled(3, UNCHANGED, 3), CURSOR.sampled, (2, 1), False, (True, True), id="the canary has none"),
        pytest.param(sampled(3, 3, UNCHANGED), CURSOR.sampled, (2, 1), False, (True, True), id="the router has none"),
        pytest.param(at(OLD, ROUTER, value=UNTIL.timestamp()), CURSOR.sampled, (2, 1), False, (True, True), id="the canary's last scrape failed"),
        pytest.param(at(OLD, ROUTER, value=UNTIL.timestamp()), CURSOR.sampled, (2, 0), True, (True, True), id="nobody waits for a canary that is not ready"),
        pytest.param(
            at(OLD, ROUTER, value=UNTIL.timestamp()),
            (SAMPLED, UNTIL.timestamp() - 121, SAMPLED),
            (2, 1),
            True,
            (True, False),
            id="nor for one without a sample for two minutes, and its latencies are not known",
        ),
    ],
)
def test_a_tick_spans_new_samples_of_all(
    found: Samples, before: tuple[float, float, float], replicas: tuple[int, int], fresh: bool, latencies: tuple[bool, bool]
) -> None:
    cursor = dataclasses.replace(CURSOR, sampled=before)
    window = dataclasses.replace(WINDOW, cursor=cursor)
    given = results(engine_end=ttft(OLD, (1, 2, 3)), router_end=[tries(ROUTER, "new-1", 4)], sampled=found)
    made = evidence.assemble(window, UNTIL, given, replicas, CREATED)
    assert isinstance(made, types.Evidence)
    assert (made.fresh, made.latencies) == (fresh, latencies)
    assert (made.canary.requests, len(made.stable.pods), made.cursor == cursor) == ((4, 1, False) if fresh else (0, 0, True))


def before(hour: float, life: float) -> dict[str, Samples]:
    """Latencies of the stable when the rollout began: so many requests in the hour before, and in all."""
    return {
        "reference_engine_start": ttft(OLD, (0, 0, life - hour)),
        "reference_engine_end": ttft(OLD, (hour, hour, life)) + ttft(OLD, (9000, 9000, 9000), name="vllm:inter_token_latency_seconds_bucket"),
        "reference_router_start": [],
        "reference_router_end": [],
    }


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param(before(200, 1000), (200, 200, 200), id="two hundred requests in the hour before are a reference"),
        pytest.param(before(199, 1000), (199, 199, 1000), id="with one less the pods' whole life is, however many tokens there were"),
        pytest.param(before(0, 0) | {"reference_engine_end": []}, None, id="without any there is none"),
        pytest.param({}, None, id="where it is not known when the rollout began there is none"),
    ],
)
def test_the_first_tick_counts_nothing_and_reads_the_reference(reference: dict[str, Samples], expected: tuple[float, ...] | None) -> None:
    given = {"engine_end": ttft(OLD, (1, 2, 3)), "router_end": [tries(ROUTER, "new-1", 4)], "router_live": [], "sampled": sampled(3, 3, 3)}
    made = assembled({**given, "gauges": [], "gpus": [], **reference}, FIRST)
    assert (made.since, made.fresh, made.stable.pods, made.canary.requests, made.cursor.began) == (UNTIL, True, (), 0, UNTIL)
    assert (made.reference["ttft"].counts if made.reference else None) == expected


GONE = (
    f"Prometheus no longer has the series of {NEW}, {OLD}, {OLD_TOO} and 1 more as of 12:05:00 UTC, when the evidence was last read; "
    "it goes on from 12:05:10 UTC"
)


@pytest.mark.parametrize(
    ("given", "reason", "words"),
    [
        pytest.param(results(router_end=[]), "NoSeries", "Prometheus has no series of the pods assistant-chat-old-1-", id="nothing is scraped"),
        pytest.param(
            results(router_end=[], sampled=[], known_prev=[]),
            "NoSeries",
            "Prometheus has no series of the pods assistant-chat-old-1-",
            id="an empty store is no zero",
        ),
        pytest.param(
            results(engine_end=ttft(OLD, (1, 2, 3), job="a") + ttft(OLD, (1, 2, 3), job="b")),
            "DuplicateSeries",
            f'Prometheus has two series for pod {OLD} (job="a" and job="b"): scrape it once, or choose one with metrics.prometheus.labels',
            id="a pod is scraped twice",
        ),
        pytest.param(results(engine_end=ttft(OLD, (1, 2, 3)), known_prev=[]), "HistoryLost", GONE, id="what was there at the last tick is not there any more"),
    ],
)
def test_unavailable(given: dict[str, Samples], reason: str, words: str) -> None:
    made = evidence.assemble(WINDOW, UNTIL, given, (2, 1), CREATED)
    assert isinstance(made, types.Unavailable)
    assert (made.reason, made.message[: len(words)]) == (reason, words)


def test_after_a_lost_history_the_evidence_goes_on_from_now() -> None:
    lost = evidence.assemble(WINDOW, UNTIL, results(engine_end=ttft(OLD, (100, 200, 300)), known_prev=[]), (2, 1), CREATED)
    assert isinstance(lost, types.Unavailable)
    newest = UNTIL.timestamp() - 3
    assert lost.cursor == types.Cursor(UNTIL, (NEW, OLD, OLD_TOO, ROUTER), (newest, newest, newest), BEGAN)


def test_a_router_that_was_never_scraped_is_told_once_the_engines_are_busy() -> None:
    cursor = types.Cursor(LAST, (NEW, OLD), (SAMPLED, SAMPLED, 0.0), BEGAN)
    given = results(engine_prev=ttft(OLD, (1, 1, 1)), engine_end=ttft(OLD, (1, 2, 3)), router_end=[], sampled=at(OLD, NEW, value=UNTIL.timestamp()))
    made = evidence.assemble(dataclasses.replace(WINDOW, cursor=cursor), UNTIL, given, (2, 1), CREATED)
    assert isinstance(made, types.Unavailable)
    assert (made.reason, made.message[:58]) == ("NoSeries", "Prometheus has no envoy_fairlane_tries of the pods assista")


def test_a_router_without_a_sample_for_two_minutes_is_told() -> None:
    cursor = dataclasses.replace(CURSOR, sampled=(SAMPLED, SAMPLED, UNTIL.timestamp() - 121))
    given = results(engine_end=ttft(OLD, (1, 2, 3)), sampled=at(OLD, NEW, value=UNTIL.timestamp()))
    made = evidence.assemble(dataclasses.replace(WINDOW, cursor=cursor), UNTIL, given, (2, 1), CREATED)
    assert isinstance(made, types.Unavailable)
    assert (made.reason, "for 121 s: is the router scraped?" in made.message) == ("NoSeries", True), made.message
