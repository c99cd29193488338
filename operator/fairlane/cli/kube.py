"""The real cluster, through the kubernetes client."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import urllib3
from kubernetes import client, config

from ..api import base
from ..core.engine.memory import gpus
from . import failures

_TIMEOUT = (5, 20)      # seconds to connect, to read


def connect(kubeconfig: str | None, context: str | None) -> "KubernetesCluster":
    """Return the cluster of the kubeconfig, or the one this runs in."""
    namespace = "default"
    try:
        try:
            config.load_kube_config(config_file=kubeconfig, context=context)  # type: ignore[no-untyped-call]
            contexts, active = config.list_kube_config_contexts(config_file=kubeconfig)  # type: ignore[no-untyped-call]
            chosen = next((entry for entry in contexts if entry["name"] == context), active)
            namespace = (chosen.get("context") or {}).get("namespace") or namespace
        except config.ConfigException:
            if kubeconfig or context:
                raise
            config.load_incluster_config()  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError, TypeError, ValueError) as error:
        remedy = "set KUBECONFIG or --kubeconfig to a file that kubectl can use"
        raise failures.CommandError(f"no cluster is configured ({error}): {remedy}", failures.ACCESS) from error
    return KubernetesCluster(client.ApiClient(), namespace)


class KubernetesCluster:
    """The real one."""

    def __init__(self, api: Any, namespace: str) -> None:
        self.namespace = namespace
        self._api = api
        self._objects = client.CustomObjectsApi(api)

    def get(self, namespace: str, name: str) -> dict[str, Any]:
        """One service; CommandError says which there are."""
        known = self.services(namespace)
        for service in known:
            if service["metadata"]["name"] == name:
                return service
        raise failures.missing("service", name, f"namespace {namespace}", [service["metadata"]["name"] for service in known])

    def services(self, namespace: str | None) -> list[dict[str, Any]]:
        """The services of a namespace, or of all."""
        what = "read the services of " + (f"namespace {namespace}" if namespace else "all namespaces")
        with _sentences(self._api, what):
            if namespace is None:
                found: Any = self._objects.list_cluster_custom_object(base.GROUP, base.VERSION, base.PLURAL, _request_timeout=_TIMEOUT)
            else:
                found = self._objects.list_namespaced_custom_object(base.GROUP, base.VERSION, namespace, base.PLURAL, _request_timeout=_TIMEOUT)
        items: list[dict[str, Any]] = found["items"]
        return items

    def config_map(self, namespace: str, name: str) -> dict[str, str] | None:
        """A ConfigMap's data; None where there is none."""
        with _sentences(self._api, f"read ConfigMap {name} of namespace {namespace}"):
            try:
                found: Any = client.CoreV1Api(self._api).read_namespaced_config_map(name, namespace, _request_timeout=_TIMEOUT)
            except client.ApiException as error:
                if error.status == 404:
                    return None
                raise
        return dict(found.data or {})

    def gpu_products(self, resource: str) -> frozenset[str]:
        """The products of the nodes that offer the resource; empty where one may not read nodes."""
        try:
            with _sentences(self._api, "read nodes"):
                found: Any = client.CoreV1Api(self._api).list_node(_request_timeout=_TIMEOUT)
        except failures.CommandError:
            return frozenset()
        return gpus.products(((node.metadata.labels or {}, node.status.allocatable or {}) for node in found.items), resource)

    def annotate(self, namespace: str, name: str, annotations: dict[str, str]) -> None:
        """Set annotations of a service."""
        body = {"metadata": {"annotations": annotations}}
        with _sentences(self._api, f"write service {name} of namespace {namespace}"):
            self._objects.patch_namespaced_custom_object(
                base.GROUP, base.VERSION, namespace, base.PLURAL, name, body, _content_type="application/merge-patch+json", _request_timeout=_TIMEOUT
            )

    def events(self, namespace: str, name: str) -> list[dict[str, Any]]:
        """The events of a service; none where one may not read them."""
        selector = f"regarding.kind={base.KIND},regarding.name={name}"
        try:
            with _sentences(self._api, "read events"):
                found: Any = self._objects.list_namespaced_custom_object(
                    "events.k8s.io", "v1", namespace, "events", field_selector=selector, _request_timeout=_TIMEOUT
                )
        except failures.CommandError:
            return []   # they only make the answer of a command friendlier
        return [
            {"reason": event.get("reason", ""), "message": event.get("note", ""), "version": event["metadata"]["resourceVersion"]} for event in found["items"]
        ]


@contextlib.contextmanager
def _sentences(api: Any, what: str) -> Iterator[None]:
    """Turn the client's errors into sentences."""
    host = api.configuration.host
    try:
        yield
    except client.ApiException as error:
        raise failures.CommandError(_said(error, what, host), failures.ACCESS) from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise failures.CommandError(f"the API server at {host} cannot be reached: {reason}", failures.ACCESS) from error


def _said(error: Any, what: str, host: str) -> str:
    if error.status == 404:
        return f"the cluster at {host} knows no {base.PLURAL}.{base.GROUP}: install Fairlane's chart first"
    if error.status == 401:
        return f"the cluster at {host} does not accept your credentials: log in again"
    try:
        message = json.loads(error.body)["message"]
    except (ValueError, KeyError, TypeError):
        message = str(error.reason)
    if error.status == 403:
        return f"you may not {what}: {message}"
    return f"could not {what}: {message}"
