"""Whose logs a pass reads, which of them, and that nothing waits for a log that cannot be read."""

import dataclasses
import datetime
from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import observed
from fairlane.shell import kube, lastwords

Object = dict[str, Any]

NOW = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
CRASHED = observed.Container(exit_code=1, terminated_reason="Error")
SPEC = specs.LLMServiceSpec.model_validate({
    "model": {"uri": "file:///m"}, "engine": {"image": "vllm/vllm-openai:v0.32.0"}, "router": {"defaultLane": "chat"},
    "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
})  # fmt: skip


def pod(name: str = "p", revision: str = "b-1", **fields: Any) -> observed.Pod:
    return observed.Pod(name=name, lane="chat", revision=revision, created=NOW, **fields)


def seen(*pods: observed.Pod, loading_for: float = 0, spec: specs.LLMServiceSpec | None = SPEC) -> observed.Observed:
    """A service whose canary b-1 loads for some seconds."""
    since = (NOW - datetime.timedelta(seconds=loading_for)).strftime("%Y-%m-%dT%H:%M:%SZ")
    lane = statuses.LaneStatus(name="chat", canary="b-1", loading_since=since)
    return observed.Observed("assistant", "llm", "u", 1, NOW, spec, status=statuses.LLMServiceStatus(lanes=[lane]), pods=pods)


def thing(name: str, state: str = "waiting", restarts: int = 1) -> Object:
    """The pod as the API server has it."""
    return {"metadata": {"name": name}, "status": {"containerStatuses": [{"name": "engine", "restartCount": restarts, "state": {state: {}}}]}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(seen(pod(container=CRASHED)), ["p"], id="one that ended with an error"),
        pytest.param(seen(pod(container=CRASHED), pod("q", container=CRASHED)), ["p"], id="one of a revision is enough"),
        pytest.param(seen(pod(container=CRASHED), pod("q", "a-1", container=CRASHED)), ["p", "q"], id="of each revision"),
        pytest.param(seen(pod(container=CRASHED, ready=True)), [], id="one that serves again has no trouble"),
        pytest.param(seen(pod(container=CRASHED, terminating=True)), [], id="one that goes has none any more"),
        pytest.param(seen(pod(container=observed.Container(exit_code=137))), [], id="a kill has no words"),
        pytest.param(seen(pod()), [], id="one that loads is left alone"),
        pytest.param(seen(pod(), loading_for=1800), ["p"], id="one that is late is asked"),
        pytest.param(seen(pod(revision="a-1"), loading_for=1800), [], id="but not the stable's"),
        pytest.param(seen(pod(), loading_for=1800, spec=None), [], id="without a spec nothing is late"),
    ],
)
def test_whose_log_is_read(value: observed.Observed, expected: list[str]) -> None:
    assert expected == lastwords.wanted_of(value)


@pytest.mark.parametrize(
    ("state", "restarts", "previous"),
    [
        pytest.param("terminated", 0, "false", id="it has just ended"),
        pytest.param("terminated", 3, "false", id="it has just ended again"),
        pytest.param("waiting", 1, "true", id="it waits to be started again"),
        pytest.param("running", 1, "true", id="it was started again"),
        pytest.param("running", 0, "false", id="it loads for the first time"),
    ],
)
async def test_the_log_is_that_of_the_container_that_ended(stub: Any, api: kube.Kube, state: str, restarts: int, previous: str) -> None:
    stub.logs["p", previous] = b"the cause \xff\n"
    (heard,) = await lastwords.heard(api, [thing("p", state, restarts)], seen(pod(container=CRASHED)))
    assert heard == pod(container=dataclasses.replace(CRASHED, log="the cause \ufffd\n"))


@pytest.mark.parametrize("status", [400, 403, 404, 500], ids=["not started", "no right", "gone", "the node is away"])
async def test_a_log_that_cannot_be_read_is_left_out(stub: Any, api: kube.Kube, status: int) -> None:
    stub.fail("GET", "/log", status)
    value = seen(pod(container=CRASHED))
    assert value.pods == await lastwords.heard(api, [thing("p")], value)


async def test_a_node_that_does_not_answer_delays_nothing(stub: Any, api: kube.Kube, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lastwords, "SECONDS", 0.05)
    stub.fail("GET", "/log", 0)
    value = seen(pod(container=CRASHED))
    assert value.pods == await lastwords.heard(api, [thing("p")], value)


async def test_a_pass_without_trouble_asks_for_no_log(stub: Any, api: kube.Kube) -> None:
    value = seen(pod(), pod("q", "a-1", ready=True))
    assert value.pods == await lastwords.heard(api, [thing("p"), thing("q")], value)
    assert stub.requests == []
