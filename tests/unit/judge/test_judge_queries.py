"""The exact text of every query."""

import datetime

import pytest

from fairlane.core import errors
from fairlane.core.judge import queries

SINCE = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
UNTIL = SINCE + datetime.timedelta(seconds=600.5)
WINDOW = queries.Window("assistant", "prod", "chat", "aaaaaaaa-1", "bbbbbbbb-2", SINCE, UNTIL)

PODS = 'pod=~"assistant-chat-aaaaaaaa-1-[a-z0-9]+-[a-z0-9]+|assistant-chat-bbbbbbbb-2-[a-z0-9]+-[a-z0-9]+"'
ENGINE = (
    '{__name__=~"vllm:time_to_first_token_seconds_bucket|vllm:inter_token_latency_seconds_bucket|vllm:time_per_output_token_seconds_bucket'
    "|vllm:request_time_per_output_token_seconds_bucket|vllm:request_queue_time_seconds_bucket|vllm:e2e_request_latency_seconds_bucket"
    '",namespace="prod",' + PODS
)
FIRST_TOKENS = '{__name__="vllm:time_to_first_token_seconds_count",namespace="prod",' + PODS
OWN = 'namespace="prod",pod=~"assistant-router-[a-z0-9]+-[a-z0-9]+",fairlane_lane="chat",fairlane_revision=~"aaaaaaaa-1|bbbbbbbb-2"'
ROUTER = '{__name__=~"envoy_fairlane_tries|envoy_fairlane_failures|envoy_fairlane_ttft_bucket|envoy_fairlane_duration_bucket",' + OWN
TRIES = '{__name__="envoy_fairlane_tries",' + OWN


@pytest.mark.parametrize(
    ("labels", "extra"),
    [
        pytest.param({}, "", id="only namespace and pod are asked of the set-up"),
        pytest.param({"job": 'a"b\\c', "cluster": "x"}, r',cluster="x",job="a\"b\\c"', id="extra labels are sorted and quoted"),
    ],
)
def test_queries(labels: dict[str, str], extra: str) -> None:
    window = queries.Window(WINDOW.service, WINDOW.namespace, WINDOW.lane, WINDOW.stable, WINDOW.canary, SINCE, UNTIL, labels)
    start, end = SINCE.timestamp(), UNTIL.timestamp()
    assert queries.queries(window) == (
        queries.Query("engine_start", f"last_over_time({ENGINE}{extra}}}[3600s])", start),
        queries.Query("engine_end", f"last_over_time({ENGINE}{extra}}}[601s])", end),
        queries.Query("engine_resets", f"sum by (pod) (resets({FIRST_TOKENS}{extra}}}[601s]))", end),
        queries.Query("engine_seen", f"max by (pod) (timestamp({FIRST_TOKENS}{extra}}}))", end),
        queries.Query("router_start", f"last_over_time({ROUTER}{extra}}}[3600s])", start),
        queries.Query("router_end", f"last_over_time({ROUTER}{extra}}}[601s])", end),
        queries.Query("router_resets", f"sum by (pod) (resets({TRIES}{extra}}}[601s]))", end),
    )


def test_a_window_that_just_began_still_reads_the_last_samples() -> None:
    window = queries.Window("assistant", "prod", "chat", "a-1", "b-1", SINCE, SINCE)
    texts = {query.name: query.text for query in queries.queries(window)}
    assert texts["engine_end"].endswith("[300s])")
    assert texts["engine_resets"].endswith("[1s]))")


def test_a_dot_in_a_service_name_matches_itself_alone() -> None:
    window = queries.Window("a.b", "prod", "chat", "a-1", "b-1", SINCE, UNTIL)
    assert window.pods("a-1") == "a[.]b-chat-a-1-[a-z0-9]+-[a-z0-9]+"


def test_a_label_that_is_none_is_refused_by_name() -> None:
    window = queries.Window("assistant", "prod", "chat", "a-1", "b-1", SINCE, UNTIL, {'x"} or vector(1)': "y"})
    with pytest.raises(errors.Refused, match=r"metrics\.prometheus\.labels: .* is no label name"):
        queries.queries(window)
