"""Flagger: its controller, and a Canary over a Deployment of nothing whose metrics are our canary's series."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import outcomes, rules

NAMESPACE = "peers-flagger"
PROGRAM = "flagger"
NAME = "flagger"
_CHECKS = {"ttft": rules.RATIO, "errors": rules.ERRORS}

Object = dict[str, Any]


def templates(queries: Mapping[str, str], prometheus: str) -> list[Object]:
    """The MetricTemplates."""
    return [
        {
            "apiVersion": "flagger.app/v1beta1", "kind": "MetricTemplate", "metadata": {"name": check},
            "spec": {"provider": {"type": "prometheus", "address": prometheus}, "query": queries[check]},
        }
        for check in _CHECKS
    ]


def deployment(image: str, revision: str) -> Object:
    """A pod that does nothing; another `revision` is a canary. Its replicas are Flagger's to set."""
    labels = {"app": NAME}
    pod = {
        "metadata": {"labels": labels, "annotations": {"revision": revision}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "nothing", "image": image, "ports": [{"containerPort": 80}]}]},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": NAME}, "spec": {"selector": {"matchLabels": labels}, "template": pod}}


def canary(interval: int) -> Object:
    """Without a mesh: so many looks in a row that no trial sees the last one."""
    metrics = [
        {"name": check, "interval": rules.WINDOW, "templateRef": {"name": check}, "thresholdRange": {"max": most}} for check, most in _CHECKS.items()
    ]
    return {
        "apiVersion": "flagger.app/v1beta1", "kind": "Canary", "metadata": {"name": NAME},
        "spec": {
            "provider": "kubernetes", "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME}, "service": {"port": 80},
            "analysis": {"interval": f"{interval}s", "threshold": rules.THRESHOLD, "iterations": 1000, "metrics": metrics},
        },
    }


def ready(canary: Mapping[str, Any]) -> bool:
    """Whether its first revision stands."""
    return (canary.get("status") or {}).get("phase") == "Initialized"


def outcome(canary: Mapping[str, Any]) -> outcomes.Outcome:
    """What it did. `iterations` counts the looks that passed."""
    status = canary.get("status") or {}
    failed, passed = int(status.get("failedChecks", 0)), int(status.get("iterations", 0))
    conditions = status.get("conditions") or [{}]
    back = status.get("phase") == "Failed"
    return outcomes.Outcome(outcomes.instant(status["lastTransitionTime"]) if back else None, failed + passed, failed, str(conditions[0].get("message", "")))
