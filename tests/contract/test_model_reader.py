"""The pod that reads a claim's model is taken by a real API server, also where pods may do next to nothing."""

import json
from typing import Any

from tests.unit.engine import make

from fairlane.core import service
from fairlane.core.objects import modelreader

NAMESPACE = "model-restricted"
REF = service.ServiceRef(name="assistant", namespace=NAMESPACE, uid="0b0e6a35-6d43-4a43-9a51-0f2b7d3c9b11")


def test_a_restricted_namespace_takes_the_reader(apiserver: Any) -> None:
    assert apiserver.kubectl("create", "namespace", NAMESPACE).returncode == 0
    assert apiserver.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted").returncode == 0
    nodes = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}
    fragment = {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}], "affinity": {"nodeAffinity": nodes}, "securityContext": {"runAsUser": 0}}}
    spec = make.service(engine={"gpu": {"product": "NVIDIA-L4"}, "pod": fragment}, model={"uri": "pvc://weights/m"})
    pod = modelreader.pod(REF, spec, make.rendered(spec).template["spec"], "fairlane:1")
    done = apiserver.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(pod))
    assert (done.returncode, done.stderr) == (0, "")
