"""Which monitors and alerts follow from a service."""

import pytest

from fairlane.api import spec as specs
from fairlane.core import service
from fairlane.core.objects import monitoring

REF = service.ServiceRef(name="assistant", namespace="llm", uid="u-1")
BOTH = frozenset({"PodMonitor", "PrometheusRule"})


def spec(**objectives: str) -> specs.LLMServiceSpec:
    lanes = [
        {"name": "chat", "profile": "Interactive", "replicas": 2, "objectives": objectives},
        {"name": "documents", "profile": "LongContext", "replicas": 1},
    ]
    return specs.LLMServiceSpec.model_validate(
        {"model": {"uri": "file:///m"}, "engine": {"image": "vllm/vllm-openai:v0.32.0"}, "lanes": lanes, "router": {"defaultLane": "documents"}}
    )


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        pytest.param(frozenset(), [], id="a cluster without the Prometheus operator gets nothing"),
        pytest.param({"PodMonitor"}, ["PodMonitor", "PodMonitor"], id="only the kinds that exist"),
        pytest.param(BOTH, ["PodMonitor", "PodMonitor", "PrometheusRule"], id="all where both exist"),
    ],
)
def test_kinds(kinds: frozenset[str], expected: list[str]) -> None:
    assert expected == [thing["kind"] for thing in monitoring.build(REF, spec(), kinds)]


def test_every_object_is_owned_and_named_apart() -> None:
    built = monitoring.build(REF, spec(), BOTH)
    assert [[REF.owner]] * 3 == [thing["metadata"]["ownerReferences"] for thing in built]
    assert len({(thing["kind"], thing["metadata"]["name"]) for thing in built}) == 3


def alerts(**objectives: str) -> dict[tuple[str, str], str]:
    groups = monitoring.rule(REF, spec(**objectives))["spec"]["groups"]
    return {(rule["alert"], rule["labels"].get("lane", "")): rule["expr"] for rule in groups[0]["rules"]}


def test_a_lane_without_an_objective_has_no_latency_alert() -> None:
    assert [name for name, _ in alerts() if name == "FairlaneLaneSlow"] == []


def test_the_latency_alert_asks_the_router_in_milliseconds() -> None:
    expected = (
        'histogram_quantile(0.99, sum by (le) (rate(envoy_fairlane_ttft_bucket{namespace="llm",pod=~"assistant-router-[a-z0-9]+-[a-z0-9]+",'
        'fairlane_lane="chat",fairlane_synthetic=""}[5m]))) > 1500'
    )
    assert expected == alerts(ttftP99="1s500ms")["FairlaneLaneSlow", "chat"]


def test_the_error_alert_takes_the_lanes_objective() -> None:
    found = alerts(errorRate="0.002")
    assert found["FairlaneLaneFailing", "chat"].endswith(" > 0.002")
    assert found["FairlaneLaneFailing", "documents"].endswith(" > 0.05")
    assert found["FairlaneLaneFailing", "chat"].count('fairlane_synthetic=""') == 2, "neither side counts what Fairlane sends itself"


def test_refusals_are_a_share_of_all_answers() -> None:
    expected = (
        'sum(rate(envoy_fairlane_requests{namespace="llm",pod=~"assistant-router-[a-z0-9]+-[a-z0-9]+",fairlane_lane="chat",code="429"}[5m])) / '
        'sum(rate(envoy_fairlane_requests{namespace="llm",pod=~"assistant-router-[a-z0-9]+-[a-z0-9]+",fairlane_lane="chat"}[5m])) > 0.05'
    )
    assert expected == alerts()["FairlaneLaneRefusing", "chat"]


def test_the_services_own_alerts_ask_the_operator() -> None:
    found = alerts()
    assert found["FairlaneFailSafe", ""] == 'max(fairlane_router_fail_safe{fairlane_namespace="llm",fairlane_service="assistant"}) > 0'
    assert found["FairlaneServiceNotReady", ""] == 'max(fairlane_service_ready{fairlane_namespace="llm",fairlane_service="assistant"}) == 0'
