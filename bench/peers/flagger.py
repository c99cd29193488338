"""Flagger: its controller, and a Canary over a Deployment of nothing whose metrics are our canary's series."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import outcomes, rules

NAMESPACE = "peers-flagger"
PROGRAM = "flagger"
NAME = "flagger"
_PASSED = " canary iteration "      # in the event of a look that found nothing
_KEPT = 5                           # different reasons of failed looks
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


def outcome(canary: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> outcomes.Outcome:
    """What it did, from the Canary and the events of its namespace: the counts in its status are gone once it has rolled back."""
    status = canary.get("status") or {}
    own = [event for event in events if event["involvedObject"]["kind"] == "Canary"]
    halts = [event for event in own if event["message"].startswith("Halt ") and " advancement " in event["message"]]
    failed, passed = (sum(int(event.get("count") or 1) for event in kind) for kind in (halts, [event for event in own if _PASSED in event["message"]]))
    back = status.get("phase") == "Failed"
    said = sorted({event["message"] for event in halts})[:_KEPT]
    return outcomes.Outcome(outcomes.instant(status["lastTransitionTime"]) if back else None, failed + passed, failed, "; ".join(said))
