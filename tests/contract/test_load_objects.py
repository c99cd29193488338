"""What sends synthetic load is taken by a real API server, also where pods may do next to nothing."""

import json
from typing import Any

from fairlane.api import spec as specs
from fairlane.core import service
from fairlane.core.load import document
from fairlane.core.objects import load

NAMESPACE = "load-restricted"
REF = service.ServiceRef(name="assistant", namespace=NAMESPACE, uid="0b0e6a35-6d43-4a43-9a51-0f2b7d3c9b11")


def test_a_restricted_namespace_takes_the_sender(apiserver: Any) -> None:
    assert apiserver.kubectl("create", "namespace", NAMESPACE).returncode == 0
    assert apiserver.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted").returncode == 0
    told = document.Load(
        url="http://r", lane="chat", model="m", key="k", rate=1, max_requests=1, in_flight=1, prompt_tokens=(1,), output_tokens=(1,)
    )
    router = specs.Router.model_validate({"defaultLane": "chat", "pod": {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}}})
    deployment = load.deployment(REF, "chat", "aaaaaaaa-1", "fairlane:1", router)
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] = pod["metadata"] | {"name": "sender", "namespace": NAMESPACE}
    for thing in (load.config_map(REF, told), deployment, pod):
        done = apiserver.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(thing))
        assert (done.returncode, done.stderr) == (0, ""), thing["kind"]
