"""The real client's errors become sentences."""

import json
from typing import Any

import pytest
import urllib3
from kubernetes import client

from fairlane.cli import failures, kube


def raising(monkeypatch: pytest.MonkeyPatch, error: Exception) -> kube.KubernetesCluster:
    """A cluster whose every answer is this error."""
    made = kube.KubernetesCluster(client.ApiClient(client.Configuration(host="https://api:6443")), "default")

    def fail(*args: Any, **kwargs: Any) -> None:
        raise error

    for name in ("list_namespaced_custom_object", "patch_namespaced_custom_object"):
        monkeypatch.setattr(client.CustomObjectsApi, name, fail)
    return made


def api_error(status: int, message: str) -> client.ApiException:
    """An error as the API server writes it."""
    error = client.ApiException(status=status, reason="why")
    error.body = json.dumps({"message": message})
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        pytest.param(api_error(403, "forbidden: user x"), "you may not read the services of namespace prod: forbidden: user x", id="no rights"),
        pytest.param(api_error(401, ""), "the cluster at https://api:6443 does not accept your credentials: log in again", id="an expired token"),
        pytest.param(api_error(404, ""), "the cluster at https://api:6443 knows no llmservices.fairlane.dev: install Fairlane's chart first", id="no CRD"),
        pytest.param(api_error(500, "etcd is gone"), "could not read the services of namespace prod: etcd is gone", id="a server error"),
        pytest.param(client.ApiException(status=500, reason="why"), "could not read the services of namespace prod: why", id="an error without a body"),
        pytest.param(urllib3.exceptions.ProtocolError("reset"), "the API server at https://api:6443 cannot be reached: reset", id="a reset connection"),
        pytest.param(ConnectionRefusedError("refused"), "the API server at https://api:6443 cannot be reached: refused", id="nobody there"),
    ],
)
def test_errors_become_sentences(monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str) -> None:
    with pytest.raises(failures.CommandError) as raised:
        raising(monkeypatch, error).get("prod", "assistant")
    assert (str(raised.value), raised.value.code) == (sentence, failures.ACCESS)


def test_writing_that_is_forbidden_says_what(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(failures.CommandError, match="you may not write service assistant of namespace prod: no"):
        raising(monkeypatch, api_error(403, "no")).annotate("prod", "assistant", {"a": "b"})


def test_events_that_one_may_not_read_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert raising(monkeypatch, api_error(403, "no")).events("prod", "assistant") == []
