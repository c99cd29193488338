"""A lane with next to no users gets enough evidence, and its users' numbers show nothing of it."""
from __future__ import annotations

import json
import urllib.parse
import urllib.request

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

LANE = manifests.lane("chat", scheduler={"maxNumSeqs": 8, "maxNumBatchedTokens": 2048, "maxModelLen": 4096}, admission={"maxInFlight": 32})
QUIET = 0.2      # requests a second: twenty in a hundred seconds


def quiet(wanted: str, *steps: tuple[int, str]) -> dict[str, object]:
    """A rollout that asks for synthetic load and for forty canary requests a step."""
    analysis = {"interval": "2s", "minRequests": 40, "syntheticLoad": {"requestsPerSecond": wanted, "maxRequests": 2000}}
    return manifests.rollout(*steps, analysis=analysis)


def count(space: Space, metric: str, **labels: str) -> float:
    """What the routers of the namespace counted, by Prometheus."""
    matchers = ",".join(f'{name}="{value}"' for name, value in {"namespace": space.namespace, **labels}.items())
    query = urllib.parse.urlencode({"query": f"sum({metric}{{{matchers}}})"})
    with urllib.request.urlopen(f"{space.cluster.prometheus_url}/api/v1/query?{query}", timeout=10) as answer:
        result = json.load(answer)["data"]["result"]
    return float(result[0]["value"][1]) if result else 0.0


def test_a_quiet_lane_gets_its_evidence_and_its_users_numbers_show_none_of_it(space: Space, service: Service) -> None:
    space.apply(service(LANE, rollout=quiet("10", (30, "30s"))))
    space.wait_ready()
    with traffic.Load(space.url, QUIET, prompts.short, paced=True) as users:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        record = space.wait_ended("chat", "Promoted", seconds=180)
        space.wait("the sender is gone", lambda _: not space.get("deployments", "-l", "fairlane.dev/component=load"), 30)
        sent = len(users.answers)
    assert [answer.line() for answer in users.failures] == []
    assert record["canaryRequests"] >= 40 > sent, record
    assert record["syntheticRequests"] > 0
    space.wait("Prometheus has the last answers", lambda _: count(space, "envoy_fairlane_requests") >= sent, 30)
    assert count(space, "envoy_fairlane_requests") <= len(users.answers) + 1, "the users' counter shows synthetic requests"
    for revision in (record["stable"], record["canary"]):
        assert count(space, "envoy_fairlane_tries", fairlane_synthetic="1", fairlane_revision=revision) >= 10, f"{revision}: both tracks alike"


def test_a_bad_change_in_a_quiet_lane_is_rolled_back_for_what_synthetic_requests_saw(space: Space, service: Service) -> None:
    space.apply(service(LANE, env={"STANDIN_STEP_SECONDS": "0.05"}, rollout=quiet("10", (30, "120s"))))
    space.wait_ready()
    usual = traffic.ask_all(space.url, [prompts.page(number) for number in range(30)], together=4)
    assert [answer.line() for answer in usual if answer.failure] == []
    with traffic.Load(space.url, QUIET, prompts.page, paced=True) as users:
        space.patch_lane("chat", scheduler={"maxNumBatchedTokens": 16})
        record = space.wait_ended("chat", "RolledBack", seconds=180)
    assert [answer.line() for answer in users.failures] == []
    assert record["syntheticRequests"] > 0
    assert len([answer for answer in users.answers if answer.track == "canary"]) < 20, "users alone would have shown it"
