"""A cluster of the user's own: used as it is, and not before the user knows what would be put on it."""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, NoReturn

from .api import Cluster
from .errors import ClusterError
from .kubectl import call

# what the local cluster brings and this one has to be told
_IMAGES = {"fairlane": "FAIRLANE_IMAGE", "envoy": "FAIRLANE_ENVOY_IMAGE", "standin": "FAIRLANE_STANDIN_IMAGE", "engine": "FAIRLANE_ENGINE_IMAGE"}
_INSTALLED = """KUBECONFIG points to {kubeconfig}, so that cluster is used and none is started. This would be put on it:
- the Helm release fairlane in namespace fairlane-system: the CustomResourceDefinitions of fairlane.dev, the operator, its cluster roles
- namespaces with LLMServices and what belongs to them: one for the demo, one for each scenario
The scenarios delete their namespaces. The rest stays for you to look at, and goes with:
  helm uninstall fairlane --namespace fairlane-system; kubectl delete namespace fairlane-system fairlane-demo
  kubectl get crd --output name | grep fairlane.dev | xargs kubectl delete"""


class UserCluster(Cluster):
    pod_reachable = False

    def __init__(self, kubeconfig: str) -> None:
        _ask(kubeconfig)
        missing = [variable for variable in (*_IMAGES.values(), "FAIRLANE_PROMETHEUS_URL", "FAIRLANE_MODEL") if not os.environ.get(variable)]
        missing += [f"{program} on PATH" for program in ("kubectl", "helm") if not shutil.which(program)]
        if missing:
            raise ClusterError(f"to use your own cluster these are needed: {', '.join(missing)} (see e2e/README.md)")
        super().__init__(Path(kubeconfig))
        self.prometheus_url = os.environ["FAIRLANE_PROMETHEUS_URL"]
        self.prometheus_in_cluster = os.environ.get("FAIRLANE_PROMETHEUS_URL_IN_CLUSTER", self.prometheus_url)
        self.model_uri = os.environ["FAIRLANE_MODEL"]

    @property
    def images(self) -> dict[str, str]:
        return {name: os.environ[variable] for name, variable in _IMAGES.items()}

    def kubectl(self, *args: str, input: str | None = None, timeout: float = 60) -> str:  # noqa: A002
        return call("kubectl", self.kubeconfig, args, input, timeout)

    def helm(self, *args: str, timeout: float = 120) -> str:
        return call("helm", self.kubeconfig, args, None, timeout)

    def model_config(self) -> str:
        """What the model there is, is not known here; the scenario that asks needs the local cluster."""
        raise ClusterError("the config.json of a model of your own cluster is not read")

    def python_env_mounts(self) -> dict[str, Any]:
        """The engine image there has its own vLLM."""
        return {}

    def engine_flags(self) -> dict[str, Any]:
        """What its nodes are is not known here."""
        return {"kv-cache-memory-bytes": "256M"}

    def stop_apiserver(self) -> None:
        raise ClusterError("the API server of a cluster of your own is not stopped; this scenario needs the local cluster")

    def own_prometheus(self, namespace: str) -> NoReturn:
        raise ClusterError(f"{namespace}: on a cluster of your own no second Prometheus is started; this scenario needs the local cluster")


def _ask(kubeconfig: str) -> None:
    print(_INSTALLED.format(kubeconfig=kubeconfig), flush=True)
    if os.environ.get("FAIRLANE_USE_MY_CLUSTER") == "yes":
        return
    if not sys.stdin.isatty() or input("Go on? Type yes: ").strip() != "yes":
        raise ClusterError("nothing was done. FAIRLANE_USE_MY_CLUSTER=yes agrees beforehand; without KUBECONFIG a local cluster is started")
