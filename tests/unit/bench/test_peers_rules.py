"""What the peers are asked to do, and how their objects are read."""
from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from bench.peers import argo, faulty, flagger, outcomes, rules, trials

TARGET = rules.Target("ns", "chat", "aaaa-1", "bbbb-1")
QUERIES = {"ttft": "slow", "errors": "failed"}


@pytest.mark.parametrize(("step", "expected"), [
    pytest.param(1800, 60, id="the usual"),
    pytest.param(600, 20, id="a third of it"),
    pytest.param(240, 10, id="not below Flagger's least"),
])
def test_interval(step: int, expected: int) -> None:
    assert rules.interval(step) == expected


def test_queries_compare_the_canary_with_the_stable() -> None:
    selector = '{namespace="ns",fairlane_lane="chat",fairlane_revision="%s"}'
    quantile = "histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket%s[1m])))"
    assert rules.latency(TARGET) == f"{quantile % (selector % 'bbbb-1')} / {quantile % (selector % 'aaaa-1')}"
    tries = f"sum(rate(envoy_fairlane_tries{selector % 'bbbb-1'}[1m]))"
    failures = f"sum(rate(envoy_fairlane_failures{selector % 'bbbb-1'}[1m]))"
    assert rules.errors(TARGET) == f"(({failures} or vector(0)) / {tries}) or vector(0)"


def test_both_peers_have_the_same_limits() -> None:
    of_argo = {metric["name"]: metric["successCondition"].split()[-1] for metric in argo.template(3, QUERIES, 10, "http://p")["spec"]["metrics"]}
    of_flagger = {metric["name"]: f"{metric['thresholdRange']['max']:g}" for metric in flagger.canary(10)["spec"]["analysis"]["metrics"]}
    assert of_argo == of_flagger == {"ttft": "1.5", "errors": "0.01"}


def rollout(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "argo-0"}, "status": status}


def run(owner: str, *metrics: tuple[int, int]) -> dict[str, Any]:
    results = [{"count": count, "failed": failed} for count, failed in metrics]
    return {"metadata": {"ownerReferences": [{"name": owner}]}, "status": {"message": "metric failed", "metricResults": results}}


@pytest.mark.parametrize(("seen", "runs", "expected"), [
    pytest.param(
        rollout(abortedAt="2026-11-30T01:00:00Z", message="aborted"), [run("argo-0", (4, 1), (4, 0)), run("argo-3", (9, 9))],
        outcomes.Outcome(1795996800.0 + 3600, 4, 1, "aborted; metric failed"), id="aborted; another's runs are not its own",
    ),
    pytest.param(rollout(phase="Paused"), [run("argo-0", (7, 0))], outcomes.Outcome(None, 7, 0, "metric failed"), id="running"),
    pytest.param({"metadata": {"name": "argo-0"}}, [], outcomes.Outcome(None, 0, 0, ""), id="not begun"),
])
def test_what_argo_did(seen: dict[str, Any], runs: list[dict[str, Any]], expected: outcomes.Outcome) -> None:
    assert argo.outcome(seen, runs) == expected


def event(message: str, count: int = 1, kind: str = "Canary") -> dict[str, Any]:
    return {"message": message, "count": count, "involvedObject": {"kind": kind}}


SLOW, UNKNOWN = "Halt flagger.ns advancement ttft 3.00 > 1.5", "Halt advancement no values found for custom metric: ttft"


@pytest.mark.parametrize(("status", "events", "expected"), [
    pytest.param(
        {"phase": "Failed", "failedChecks": 0, "iterations": 0, "lastTransitionTime": "2026-11-30T00:00:00Z"},
        [event("Advance flagger.ns canary iteration 1/1000"), event("Advance flagger.ns canary iteration 2/1000"), event(SLOW, 4), event(UNKNOWN)],
        outcomes.Outcome(1795996800.0, 7, 5, f"{UNKNOWN}; {SLOW}"), id="rolled back, its counts gone",
    ),
    pytest.param(
        {"phase": "Progressing", "lastTransitionTime": "2026-11-30T00:00:00Z"}, [event("Starting canary analysis for flagger.ns"), event(SLOW, 3, "Pod")],
        outcomes.Outcome(None, 0, 0, ""), id="running; another object's events are not its own",
    ),
    pytest.param({}, [], outcomes.Outcome(None, 0, 0, ""), id="not begun"),
])
def test_what_flagger_did(status: dict[str, Any], events: list[dict[str, Any]], expected: outcomes.Outcome) -> None:
    assert flagger.outcome({"status": status}, events) == expected


def manifest(trial: trials.Trial) -> trials.Manifest:
    pod = {"spec": {"volumes": [], "containers": [{"name": "engine", "env": [], "volumeMounts": []}]}}
    return trials.base("engine:1", "file:///model", {"dtype": "float32"}, pod, trial, "change")


OPEN, CLOSED = (dataclasses.replace(trials.TRIALS[0], rate=0.8, strays=0.04, users=users) for users in (0, 6))
PACED = [
    pytest.param(OPEN, dataclasses.replace(OPEN, rate=0.4, strays=0.02), id="fewer requests"),
    pytest.param(CLOSED, CLOSED, id="the same users, who wait longer for their answers"),
]


@pytest.mark.parametrize(("trial", "expected"), PACED)
def test_a_slower_machine_gets_the_same_trial_with(trial: trials.Trial, expected: trials.Trial) -> None:
    assert trial.paced_to(0.5) == expected


EXPOSURES = [
    pytest.param(OPEN, "10 % for 5 min, 0.8 chats a second, 0.04 long prompts a second", id="open loop"),
    pytest.param(CLOSED, "10 % for 5 min, 6 users who ask again when answered, 0.04 long prompts a second", id="closed loop"),
]


@pytest.mark.parametrize(("trial", "expected"), EXPOSURES)
def test_the_exposure_is_said_as_it_is(trial: trials.Trial, expected: str) -> None:
    assert trial.exposure == expected


@pytest.mark.parametrize("trial", trials.TRIALS, ids=lambda trial: trial.name)
def test_a_change_alters_the_engine_and_nothing_of_its_exposure(trial: trials.Trial) -> None:
    before = manifest(trial)
    after = trials.changed(before, trial)
    assert before == manifest(trial)
    assert [after["spec"]["engine"], after["spec"]["lanes"]] != [before["spec"]["engine"], before["spec"]["lanes"]]
    assert after["spec"]["rollout"] == before["spec"]["rollout"]


async def test_every_fifth_chat_fails_and_other_paths_never_do() -> None:
    statuses: list[int] = []

    async def receive() -> None:
        raise AssertionError("the body is not the middleware's to read")

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    async def engine(_: Any, __: Any, answer: Any) -> None:
        await answer({"type": "http.response.start", "status": 200})

    app = faulty.OneInFive(engine)
    for path in ["/v1/chat/completions", "/health"] * 10:
        await app({"type": "http", "path": path}, receive, send)
    assert statuses == ([200] * 8 + [500, 200]) * 2
