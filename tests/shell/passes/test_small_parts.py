"""Wake-ups, log lines, settings, arguments, and credentials of Prometheus."""

import base64
import datetime
import json
import logging
import sys
from typing import Any

import pydantic
import pytest

from fairlane import __main__ as processes
from fairlane import settings as own_settings
from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import names, observed
from fairlane.core.judge import types as judging
from fairlane.shell import evidence, kube, logs, prometheus, queue, wiring

Object = dict[str, Any]


def event(kind: str | None, state: str = "", **labels: str) -> Object:
    metadata = {"name": "x", "namespace": "llm", "uid": "u", "labels": labels, "annotations": {names.ROUTER_STATE_ANNOTATION: state}}
    return {"type": kind, "object": {"metadata": metadata}}


@pytest.fixture
def woken() -> list[queue.Key]:
    return []


@pytest.fixture
def wakes(woken: list[queue.Key]) -> wiring.Wakes:
    return wiring.Wakes(woken.append)


OWN = {names.SERVICE_LABEL: "assistant"}


def test_an_event_of_a_child_wakes_its_service(wakes: wiring.Wakes, woken: list[queue.Key]) -> None:
    wakes.child(event("MODIFIED", **OWN))
    wakes.child(event("MODIFIED"))
    assert woken == [("llm", "assistant")]


def test_a_lease_wakes_only_when_it_says_something_new(wakes: wiring.Wakes, woken: list[queue.Key]) -> None:
    counts = []
    for kind, state in ((None, "a"), ("MODIFIED", "a"), ("MODIFIED", "b"), ("DELETED", "b"), ("ADDED", "b")):
        wakes.lease(event(kind, state, **OWN))
        counts.append(len(woken))
    assert counts == [1, 1, 2, 3, 4]


def line(*arguments: Any, **options: Any) -> Object:
    record = logging.getLogger("fairlane.test").makeRecord("fairlane.test", logging.INFO, __file__, 1, *arguments, **options)
    found: Object = json.loads(logs.Json().format(record))
    return found


def test_a_log_line_is_one_object_with_its_fields() -> None:
    found = line("applied %s\nü", ("Role",), None, extra={"service": "assistant"})
    assert (found["level"], found["logger"], found["message"], found["service"]) == ("INFO", "fairlane.test", "applied Role\nü", "assistant")
    assert datetime.datetime.fromisoformat(found["time"]).tzinfo is not None


def test_a_log_line_has_its_traceback() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        assert "ValueError: broken" in line("failed", (), sys.exc_info())["exception"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", (), id="nothing means the cluster"),
        pytest.param("a, b,,a ", ("a", "b"), id="each namespace once, blanks aside"),
    ],
)
def test_watched_namespaces(text: str, expected: tuple[str, ...]) -> None:
    assert own_settings.OperatorSettings(namespaces=text).watched == expected


@pytest.mark.parametrize("values", [{"namespaces": "team-*"}, {"log_level": "loud"}, {"lease_seconds": 0}, {"concurrency": 0}])
def test_settings_that_are_refused(values: Object) -> None:
    with pytest.raises(pydantic.ValidationError, match=next(iter(values))):
        own_settings.OperatorSettings(**values)


@pytest.mark.parametrize("arguments", [[], ["router"], ["operator", "--fast"], ["agent", "--help"]])
def test_arguments_that_are_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert processes.main(arguments) == 2
    assert processes.USAGE in capsys.readouterr().err


def seen(**source: Any) -> observed.Observed:
    spec = specs.LLMServiceSpec.model_validate(
        {
            "model": {"uri": "file:///m"},
            "engine": {"image": "vllm/vllm-openai:v0.32.0"},
            "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
            "router": {"defaultLane": "chat"},
            "metrics": {"prometheus": source},
        }
    )
    status = statuses.LLMServiceStatus(lanes=[statuses.LaneStatus(name="chat", stable="a-1", canary="b-1"), statuses.LaneStatus(name="batch", stable="a-1")])
    return observed.Observed("assistant", "llm", "u", 1, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), spec, status=status)


async def test_a_secret_that_is_missing_makes_the_numbers_unavailable_for_the_lanes_on_trial(stub: Any, api: kube.Kube) -> None:
    found = (await evidence.Gatherer(api).gather(seen(tokenSecretRef={"name": "prom"}))).evidence
    assert set(found) == {"chat"}
    answer = found["chat"]
    assert isinstance(answer, judging.Unavailable)
    assert (answer.reason, "spec.metrics.prometheus.tokenSecretRef" in answer.message) == ("NotConfigured", True)


async def test_credentials_are_read_anew_and_a_client_is_kept_while_they_are_the_same(stub: Any, api: kube.Kube, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = []

    async def asked(_: observed.Observed, client: Any) -> prometheus.Gathered:
        clients.append(client)
        return prometheus.Gathered()

    monkeypatch.setattr(prometheus, "gather", asked)
    gatherer = evidence.Gatherer(api)
    for token in (b"one", b"one", b"two"):
        stub.put("secrets", {"metadata": {"name": "prom", "namespace": "llm"}, "data": {"token": base64.b64encode(token).decode()}})
        await gatherer.gather(seen(tokenSecretRef={"name": "prom"}))
    assert [client.headers["authorization"] for client in clients] == ["Bearer one", "Bearer one", "Bearer two"]
    assert clients[0] is clients[1]
    await gatherer.close()
