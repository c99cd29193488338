"""Argo Rollouts: its controller, and a Rollout of nothing whose background analysis reads our canary's series."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import outcomes, rules

NAMESPACE = "peers-argo-rollouts"
PROGRAM = "rollouts-controller"
_CHECKS = {"ttft": rules.RATIO, "errors": rules.ERRORS}

Object = dict[str, Any]


def name(limit: int) -> str:
    """Name of the Rollout and of its template."""
    return f"argo-{limit}"


def template(limit: int, queries: Mapping[str, str], interval: int, prometheus: str) -> Object:
    """The AnalysisTemplate. No data and NaN are no failure, as Argo's documentation advises."""
    metrics = [
        {
            "name": check, "interval": f"{interval}s", "failureLimit": limit,
            "successCondition": f"len(result) == 0 || isNaN(result[0]) || result[0] <= {most:g}",
            "provider": {"prometheus": {"address": prometheus, "query": queries[check]}},
        }
        for check, most in _CHECKS.items()
    ]
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": name(limit)}, "spec": {"metrics": metrics}}


def rollout(limit: int, image: str, revision: str) -> Object:
    """Half of two pods that do nothing; another `revision` starts a canary, and with it the analysis, until something ends it."""
    labels = {"app": name(limit)}
    pod = {
        "metadata": {"labels": labels, "annotations": {"revision": revision}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "nothing", "image": image}]},
    }
    canary = {"analysis": {"templates": [{"templateName": name(limit)}], "startingStep": 1}, "steps": [{"setWeight": 50}, {"pause": {}}]}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod, "strategy": {"canary": canary}}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name(limit)}, "spec": spec}


def ready(rollout: Mapping[str, Any]) -> bool:
    """Whether its first revision stands."""
    return (rollout.get("status") or {}).get("phase") == "Healthy"


def outcome(rollout: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> outcomes.Outcome:
    """What it did, from the Rollout and the AnalysisRuns that it owns."""
    status = rollout.get("status") or {}
    own = [run for run in runs if any(owner.get("name") == rollout["metadata"]["name"] for owner in run["metadata"].get("ownerReferences", []))]
    results = [result for run in own for result in (run.get("status") or {}).get("metricResults", [])]
    aborted = status.get("abortedAt")
    said = "; ".join(filter(None, [status.get("message", ""), *((run.get("status") or {}).get("message", "") for run in own)]))
    return outcomes.Outcome(
        outcomes.instant(aborted) if aborted else None,
        max((int(result.get("count", 0)) for result in results), default=0), sum(int(result.get("failed", 0)) for result in results), said,
    )
