"""What is asked of Prometheus for synthetic load, and what is made of the answers."""

import datetime
import math

import pytest

from fairlane.core import traffic
from fairlane.core.judge import queries, samples, types

BEGAN = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
WINDOW = queries.Window("assistant", "ai", "chat", "aaaaaaaa-1", "bbbbbbbb-1", labels={"cluster": 'a"b'})


def texts(*, lengths: bool = True, seconds: float = 90.5) -> dict[str, queries.Query]:
    return {query.name: query for query in traffic.asked(WINDOW, BEGAN + datetime.timedelta(seconds=seconds), BEGAN, lengths=lengths)}


def test_users_are_counted_lately_and_synthetic_requests_since_the_rollout_began() -> None:
    matchers = r'namespace="ai",fairlane_lane="chat",cluster="a\"b",pod=~"assistant-router-[a-z0-9]+-[a-z0-9]+"'
    asked = texts(lengths=False)
    assert asked["rate"].text == f"sum(rate(envoy_fairlane_requests{{{matchers}}}[300s]))"
    assert asked["synthetic"].text == f"sum(increase(envoy_fairlane_synthetic_requests{{{matchers}}}[91s]))"
    assert {name: query.time for name, query in asked.items()} == {"rate": None, "synthetic": None}


def test_lengths_are_those_of_the_stable_before_the_rollout() -> None:
    asked = texts()
    matchers = r'namespace="ai",cluster="a\"b",pod=~"assistant-chat-aaaaaaaa-1-[a-z0-9]+-[a-z0-9]+"'
    assert asked["answers_1d"].text == f"sum by (le) (increase(vllm:request_generation_tokens_bucket{{{matchers}}}[1d]))"
    assert asked["prompts_1h"].text == f"sum by (le) (increase(vllm:request_prompt_tokens_bucket{{{matchers}}}[1h]))"
    assert {query.time for name, query in asked.items() if name not in ("rate", "synthetic")} == {BEGAN.timestamp()}


def buckets(*pairs: tuple[str, float]) -> list[samples.Sample]:
    return [samples.Sample({"le": edge}, value) for edge, value in pairs]


NUMBERS = {"rate": [samples.Sample({}, 0.25)], "synthetic": [samples.Sample({}, 7.0)]}
HOUR, DAY, FEW = buckets(("+Inf", 60.0), ("10", 50.0)), buckets(("+Inf", 600.0), ("10", 0.0)), buckets(("+Inf", 49.0), ("10", 49.0))
HISTORIES = {
    "the hour's": (HOUR, DAY, (50.0, 60.0)), "the day's where the hour has too few": (FEW, DAY, (0.0, 600.0)), "none of a day with too few": (FEW, FEW, None),
    "none where nothing is known": ([], [], None),
}


@pytest.mark.parametrize(("hour", "day", "expected"), HISTORIES.values(), ids=HISTORIES.keys())
def test_lengths_need_requests(hour: list[samples.Sample], day: list[samples.Sample], expected: tuple[float, float] | None) -> None:
    found = traffic.assemble(NUMBERS | {"prompts_1h": hour, "prompts_1d": day, "answers_1h": HOUR, "answers_1d": DAY})
    assert (found.prompts.counts if found.prompts else None) == expected
    assert (found.rate, found.synthetic, found.answers) == (0.25, 7.0, types.Histogram((10.0, math.inf), (50.0, 60.0)))


def test_a_lane_without_series_has_no_users() -> None:
    assert traffic.assemble({"rate": [], "synthetic": []}) == traffic.Traffic(0.0, 0.0)


def test_a_twentieth_of_the_observations_for_each_length() -> None:
    found = traffic.ranked(types.Histogram((10.0, 20.0, math.inf), (50.0, 90.0, 100.0)))
    assert (len(found), found[0], found[9], found[10], found[-1]) == (20, 1, 10, 11, 20)
