"""How the API server's answers become errors, and what reading a Secret says when there is nothing to read."""

import base64
from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.core import errors
from fairlane.shell import kube, resources, secrets


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (0, kube.Unavailable),
        (400, kube.Rejected),
        (403, kube.Rejected),
        (409, kube.Conflict),
        (422, kube.Rejected),
        (429, kube.Unavailable),
        (500, kube.Unavailable),
    ],
)
async def test_every_answer_has_its_error(stub: Any, api: kube.Kube, status: int, kind: type[kube.KubeError]) -> None:
    stub.fail("GET", "/pods", status)
    with pytest.raises(kube.KubeError) as caught:
        await api.list(resources.POD, "llm")
    assert type(caught.value) is kind
    assert "GET /api/v1/namespaces/llm/pods" in str(caught.value)
    assert ("told to answer" in str(caught.value)) is (status != 0)


async def test_no_api_server_at_all(stub: Any, api: kube.Kube) -> None:
    api._client.configuration.host = "http://127.0.0.1:1"
    with pytest.raises(kube.Unavailable):
        await api.list(resources.POD, "llm")


async def test_listed_objects_say_what_they_are(stub: Any, api: kube.Kube) -> None:
    stub.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "llm", "labels": {"a": "1"}}})
    stub.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q", "namespace": "llm"}})
    found = await api.list(resources.POD, "llm", "a=1")
    assert [(thing["apiVersion"], thing["kind"], thing["metadata"]["name"]) for thing in found] == [("v1", "Pod", "p")]


async def test_deleting_what_is_gone_is_no_error(stub: Any, api: kube.Kube) -> None:
    await api.delete(resources.SERVICE, "llm", "gone")


async def test_a_kind_that_the_cluster_lacks_is_not_served(stub: Any, api: kube.Kube) -> None:
    assert await api.served("monitoring.coreos.com/v1") == frozenset()
    assert "LLMService" in await api.served("fairlane.dev/v1alpha1")


REFERENCE = specs.SecretKeyRef(name="prom", key="token")


async def test_a_secret_is_read(stub: Any, api: kube.Kube) -> None:
    stub.put("secrets", {"metadata": {"name": "prom", "namespace": "llm"}, "data": {"token": base64.b64encode(b"s3cret").decode()}})
    assert await secrets.read(api, "llm", REFERENCE, "field") == "s3cret"
    assert await secrets.read(api, "llm", None, "field") == ""


@pytest.mark.parametrize(
    ("data", "status", "said"),
    [
        pytest.param(None, None, "has no key 'token' in namespace 'llm'; create it", id="no Secret"),
        pytest.param({"other": ""}, None, "has no key 'token'", id="no such key"),
        pytest.param({"token": "/w=="}, None, "is no text", id="bytes that are no text"),
        pytest.param({"token": ""}, 403, "rbac.readSecrets=true", id="no right to read it"),
    ],
)
async def test_a_secret_that_cannot_be_read(stub: Any, api: kube.Kube, data: dict[str, str] | None, status: int | None, said: str) -> None:
    if data is not None:
        stub.put("secrets", {"metadata": {"name": "prom", "namespace": "llm"}, "data": data})
    if status:
        stub.fail("GET", "/secrets", status)
    with pytest.raises(errors.Refused, match=r"spec\.metrics\.prometheus\.tokenSecretRef: ") as caught:
        await secrets.read(api, "llm", REFERENCE, "spec.metrics.prometheus.tokenSecretRef")
    assert said in str(caught.value)
