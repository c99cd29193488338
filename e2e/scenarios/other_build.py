"""An operator that renders differently: the same image, with one function wrapped at the start of its interpreter."""
from __future__ import annotations

import json

from e2e.scenarios import install

_PATCH = '''
from fairlane.core.engine import template

_plain = template.template


def changed(parts):
    value = _plain(parts)
    value["metadata"]["annotations"]["example.com/renderer"] = "changed"
    value["spec"]["terminationGracePeriodSeconds"] += 1
    return value


template.template = changed
'''
_NAME = "changed-renderer"


def changed_renderer(operator: install.Operator) -> None:
    """Make a scenario's own operator one that renders differently."""
    cluster, namespace, deployment = operator.cluster, operator.namespace, operator.deployment
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _NAME}, "data": {"sitecustomize.py": _PATCH}}
    cluster.kubectl("apply", "--namespace", namespace, "-f", "-", input=json.dumps(manifest))
    spec = json.loads(cluster.kubectl("get", "deployment", deployment, "--namespace", namespace, "-o", "json"))["spec"]["template"]["spec"]
    container = {
        "name": spec["containers"][0]["name"], "env": [{"name": "PYTHONPATH", "value": "/changed"}],
        "volumeMounts": [{"name": _NAME, "mountPath": "/changed"}],
    }
    patch = {"spec": {"template": {"spec": {"containers": [container], "volumes": [{"name": _NAME, "configMap": {"name": _NAME}}]}}}}
    cluster.kubectl("patch", "deployment", deployment, "--namespace", namespace, "-p", json.dumps(patch))
    operator.wait()
