"""The exact text of every query."""

import datetime

import pytest

from fairlane.core import errors
from fairlane.core.judge import queries, types

BEGAN = datetime.datetime(2026, 1, 1, 11, 50, tzinfo=datetime.UTC)
LAST = datetime.datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=datetime.UTC)
UNTIL = LAST + datetime.timedelta(seconds=600.5)
STABLE, CANARY = "aaaaaaaa-1", "bbbbbbbb-2"

PODS = "assistant-chat-aaaaaaaa-1-[a-z0-9]+-[a-z0-9]+|assistant-chat-bbbbbbbb-2-[a-z0-9]+-[a-z0-9]+"
ROUTERS = "assistant-router-[a-z0-9]+-[a-z0-9]+"
LATENCIES = (
    "vllm:time_to_first_token_seconds_bucket|vllm:inter_token_latency_seconds_bucket|vllm:time_per_output_token_seconds_bucket"
    "|vllm:request_time_per_output_token_seconds_bucket|vllm:request_queue_time_seconds_bucket|vllm:e2e_request_latency_seconds_bucket"
)
CONTEXT = (
    "|vllm:prefix_cache_queries_total|vllm:gpu_prefix_cache_queries_total|vllm:prefix_cache_hits_total|vllm:gpu_prefix_cache_hits_total"
    "|vllm:num_preemptions_total|vllm:generation_tokens_total|vllm:iteration_tokens_total_count|vllm:request_success_total"
)
ENGINE = f'{{__name__=~"{LATENCIES}{CONTEXT}",namespace="prod",pod=~"{PODS}"'
OWN = f'namespace="prod",pod=~"{ROUTERS}",fairlane_lane="chat",fairlane_revision=~"aaaaaaaa-1|bbbbbbbb-2|-|"'
ANSWERS = "envoy_fairlane_tries|envoy_fairlane_failures|envoy_fairlane_requests"
ROUTER = f'{{__name__=~"{ANSWERS}|envoy_fairlane_ttft_bucket|envoy_fairlane_duration_bucket",{OWN}'
LIVE = f'{{__name__=~"{ANSWERS}|envoy_fairlane_ttft_count|envoy_fairlane_duration_count",{OWN}'
PRESENCE = f'{{__name__=~"vllm:time_to_first_token_seconds_count|envoy_server_uptime|envoy_fairlane_tries",namespace="prod",pod=~"{PODS}|{ROUTERS}"'
GAUGES = f'{{__name__=~"vllm:num_requests_running|vllm:num_requests_waiting|vllm:kv_cache_usage_perc|vllm:gpu_cache_usage_perc",namespace="prod",pod=~"{PODS}"'
GPU = '{__name__=~"DCGM_FI_DEV_GPU_UTIL|DCGM_FI_DEV_FB_USED|DCGM_FI_DEV_FB_FREE",'
GPUS = f'{GPU}namespace="prod",pod=~"{PODS}"', f'{GPU}exported_namespace="prod",exported_pod=~"{PODS}"'


def window(
    cursor: types.Cursor | None = None, labels: dict[str, str] | None = None, began: datetime.datetime | None = None, reference: str = ""
) -> queries.Window:
    return queries.Window("assistant", "prod", "chat", STABLE, CANARY, cursor, labels or {}, began, reference)


def ends(tail: str, extra: str = "") -> tuple[queries.Query, ...]:
    """What every tick asks as of its end."""
    end, close = UNTIL.timestamp(), extra + "}"
    return (
        queries.Query("engine_end", f"last_over_time({ENGINE}{close}[{tail}])", end),
        queries.Query("router_end", f"last_over_time({ROUTER}{close}[{tail}])", end),
        queries.Query("router_live", LIVE + close, end),
        queries.Query("sampled", f"max by (pod) (timestamp({PRESENCE}{close}))", end),
        queries.Query("gauges", GAUGES + close, end, gauge=True),
        queries.Query("gpus", f"{GPUS[0]}{close} or {GPUS[1]}{close}", end, gauge=True),
    )


@pytest.mark.parametrize(
    ("labels", "extra"),
    [
        pytest.param({}, "", id="only namespace and pod are asked of the set-up"),
        pytest.param({"job": 'a"b\\c', "cluster": "x"}, r',cluster="x",job="a\"b\\c"', id="extra labels are sorted and quoted"),
    ],
)
def test_a_tick_asks_for_both_its_ends(labels: dict[str, str], extra: str) -> None:
    start, end, close = LAST.timestamp(), UNTIL.timestamp(), extra + "}"
    assert queries.queries(window(types.Cursor(LAST), labels, BEGAN), UNTIL) == (
        *ends("600500ms", extra),
        queries.Query("engine_prev", f"last_over_time({ENGINE}{close}[3600000ms])", start),
        queries.Query("router_prev", f"last_over_time({ROUTER}{close}[3600000ms])", start),
        queries.Query("known_prev", f"max by (pod) (last_over_time({PRESENCE}{close}[3600000ms]))", start),
        queries.Query("resets_prev", f"sum by (pod) (resets({PRESENCE}{close}[3600000ms]))", start),
        queries.Query("resets_end", f"sum by (pod) (resets({PRESENCE}{close}[4200500ms]))", end),
    )


@pytest.mark.parametrize(
    ("reference", "revision"),
    [pytest.param("", STABLE, id="the compared side is the stable"), pytest.param("cccccccc-1", "cccccccc-1", id="the compared side is a fresh baseline")],
)
def test_the_first_tick_asks_for_the_reference_instead(reference: str, revision: str) -> None:
    engine = f'last_over_time({{__name__=~"{LATENCIES}",namespace="prod",pod=~"assistant-chat-{revision}-[a-z0-9]+-[a-z0-9]+"}}[3600000ms])'
    own = f'namespace="prod",pod=~"{ROUTERS}",fairlane_lane="chat",fairlane_revision=~"{revision}"'
    router = f'last_over_time({{__name__=~"envoy_fairlane_ttft_bucket|envoy_fairlane_duration_bucket",{own}}}[3600000ms])'
    hour_before, began = BEGAN.timestamp() - 3600, BEGAN.timestamp()
    assert queries.queries(window(began=BEGAN, reference=reference), UNTIL) == (
        *ends("300000ms"),
        queries.Query("reference_engine_start", engine, hour_before),
        queries.Query("reference_engine_end", engine, began),
        queries.Query("reference_router_start", router, hour_before),
        queries.Query("reference_router_end", router, began),
    )


def test_without_a_beginning_there_is_no_reference() -> None:
    assert queries.queries(window(), UNTIL) == ends("300000ms")


def test_a_short_tick_still_reads_the_last_samples() -> None:
    texts = {query.name: query.text for query in queries.queries(window(types.Cursor(UNTIL - datetime.timedelta(seconds=1))), UNTIL)}
    assert texts["engine_end"].endswith("[300000ms])")
    assert texts["resets_end"].endswith("[3601000ms]))")


def test_a_lanes_rate_is_over_the_last_hour_or_since_its_first_sample() -> None:
    tries = f'{{__name__="envoy_fairlane_tries",namespace="prod",pod=~"{ROUTERS}",fairlane_lane="chat",cluster="x",fairlane_synthetic=""}}'
    text = f"sum(increase({tries}[3600s])) / clamp_min(time() - min(min_over_time(timestamp({tries})[3600s:60s])), 60)"
    assert queries.rate("assistant", "prod", "chat", {"cluster": "x"}) == queries.Query("rate", text, None)


def test_a_dot_in_a_service_name_matches_itself_alone() -> None:
    assert queries.Window("a.b", "prod", "chat", "a-1", "b-1").pods("a-1") == "a[.]b-chat-a-1-[a-z0-9]+-[a-z0-9]+"


def test_a_label_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(errors.Refused, match=r"metrics\.prometheus\.labels: .* is no label name"):
        queries.queries(window(labels={'x"} or vector(1)': "y"}), UNTIL)
