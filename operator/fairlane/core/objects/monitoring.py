"""What the Prometheus operator needs, where the cluster has its kinds: who is scraped, and which alerts a service has."""

from collections.abc import Collection
from typing import Any

from ...api import base
from ...api import spec as specs
from .. import names, service
from ..routing import metrics

API_VERSION = "monitoring.coreos.com/v1"
SCRAPE_SECONDS = 5             # at most half the judge's default interval
ENGINE_PORT_NAME = "http"      # of the container ports
ROUTER_PORT_NAME = "metrics"

_REFUSED_SHARE = 0.05          # of a lane's requests answered 429, for ten minutes: the bound is too low or the lane too small
_OF_USERS = f'{metrics.SYNTHETIC}=""'    # what Fairlane sends to a quiet lane breaks no promise
_ERROR_SHARE = 0.05            # where the lane has no objective of its own


def build(ref: service.ServiceRef, spec: specs.LLMServiceSpec, kinds: Collection[str]) -> tuple[dict[str, Any], ...]:
    """Return the PodMonitors and the PrometheusRule, of those kinds that the cluster has."""
    monitors = (engine_monitor(ref), router_monitor(ref)) if "PodMonitor" in kinds else ()
    return (*monitors, rule(ref, spec)) if "PrometheusRule" in kinds else monitors


def engine_monitor(ref: service.ServiceRef) -> dict[str, Any]:
    """Return the PodMonitor of all engine pods."""
    return _monitor(ref, names.bounded(f"{ref.name}-engines"), "engine", ENGINE_PORT_NAME)


def router_monitor(ref: service.ServiceRef) -> dict[str, Any]:
    """Return the PodMonitor of the router pods."""
    return _monitor(ref, names.router(ref.name), "router", ROUTER_PORT_NAME)


def _monitor(ref: service.ServiceRef, name: str, component: str, port: str) -> dict[str, Any]:
    endpoint = {"port": port, "path": "/metrics", "interval": f"{SCRAPE_SECONDS}s", "scrapeTimeout": f"{SCRAPE_SECONDS - 1}s"}
    return {
        "apiVersion": API_VERSION,
        "kind": "PodMonitor",
        "metadata": ref.metadata(name, names.labels(ref.name, component)),
        "spec": {
            "selector": {"matchLabels": {names.SERVICE_LABEL: ref.name, names.COMPONENT_LABEL: component}},
            "podTargetLabels": [names.SERVICE_LABEL, names.LANE_LABEL, names.REVISION_LABEL],
            "podMetricsEndpoints": [endpoint],
        },
    }


def rule(ref: service.ServiceRef, spec: specs.LLMServiceSpec) -> dict[str, Any]:
    """Return the PrometheusRule: what the lanes promise, what they refuse, and a router that went to its fail-safe."""
    alerts = [alert for lane in spec.lanes for alert in _lane_alerts(ref, lane)]
    return {
        "apiVersion": API_VERSION,
        "kind": "PrometheusRule",
        "metadata": ref.metadata(names.bounded(f"{ref.name}-alerts"), names.labels(ref.name, "alerts")),
        "spec": {"groups": [{"name": f"fairlane.{ref.namespace}.{ref.name}", "rules": [*alerts, _fail_safe(ref), _not_ready(ref)]}]},
    }


def _lane_alerts(ref: service.ServiceRef, lane: specs.Lane) -> list[dict[str, Any]]:
    """Return one lane's alerts; the latency's only where the lane promises one."""
    objective = [_late(ref, lane, lane.objectives.ttft_p99)] if lane.objectives.ttft_p99 else []
    return [*objective, _refusing(ref, lane), _failing(ref, lane)]


def _late(ref: service.ServiceRef, lane: specs.Lane, objective: str) -> dict[str, Any]:
    rate = f"sum by (le) (rate({metrics.TTFT_BUCKET}{_router(ref, lane, _OF_USERS)}[5m]))"
    expression = f"histogram_quantile(0.99, {rate}) > {base.seconds(objective) * 1000:g}"
    said = f"the p99 of the time to the first token is {{{{ $value | humanize }}}} ms, over the objective of {objective}"
    return _alert("FairlaneLaneSlow", expression, "10m", "warning", _labels(ref, lane), f"{_lane(ref, lane)}: {said}.")


def _refusing(ref: service.ServiceRef, lane: specs.Lane) -> dict[str, Any]:
    refused = f'{metrics.CODE}="429"'
    share = _share(metrics.REQUESTS + _router(ref, lane, refused), metrics.REQUESTS + _router(ref, lane))
    said = "{{ $value | humanizePercentage }} of the requests get 429: more come than admission.maxInFlight lets in"
    return _alert("FairlaneLaneRefusing", f"{share} > {_REFUSED_SHARE:g}", "10m", "warning", _labels(ref, lane), f"{_lane(ref, lane)}: {said}.")


def _failing(ref: service.ServiceRef, lane: specs.Lane) -> dict[str, Any]:
    allowed = float(lane.objectives.error_rate) if lane.objectives.error_rate else _ERROR_SHARE
    share = _share(metrics.FAILURES + _router(ref, lane, _OF_USERS), metrics.TRIES + _router(ref, lane, _OF_USERS))
    said = f"{{{{ $value | humanizePercentage }}}} of the tries at its engines fail, over {allowed:.2%}"
    return _alert("FairlaneLaneFailing", f"{share} > {allowed:g}", "5m", "critical", _labels(ref, lane), f"{_lane(ref, lane)}: {said}.")


def _fail_safe(ref: service.ServiceRef) -> dict[str, Any]:
    said = "{{ $value }} router pods do not see the operator's heartbeat and serve by their fail-safe"
    expression = f"max(fairlane_router_fail_safe{_own(ref)}) > 0"
    return _alert("FairlaneFailSafe", expression, "1m", "warning", _labels(ref), f"{ref.namespace}/{ref.name}: {said}.")


def _not_ready(ref: service.ServiceRef) -> dict[str, Any]:
    said = f"not ready; `fairlane why {ref.name} -n {ref.namespace}` says why"
    expression = f"max(fairlane_service_ready{_own(ref)}) == 0"
    return _alert("FairlaneServiceNotReady", expression, "15m", "critical", _labels(ref), f"{ref.namespace}/{ref.name}: {said}.")


def _labels(ref: service.ServiceRef, lane: specs.Lane | None = None) -> dict[str, str]:
    """Return the labels of an alert."""
    return {"namespace": ref.namespace, "service": ref.name} | ({"lane": lane.name} if lane else {})


def _lane(ref: service.ServiceRef, lane: specs.Lane) -> str:
    """Return how a summary names a lane."""
    return f"lane {lane.name} of {ref.namespace}/{ref.name}"


def _alert(name: str, expression: str, held: str, severity: str, labels: dict[str, str], summary: str) -> dict[str, Any]:
    return {"alert": name, "expr": expression, "for": held, "labels": labels | {"severity": severity}, "annotations": {"summary": summary}}


def _share(part: str, whole: str) -> str:
    """Return the expression of a share of rates over five minutes."""
    return f"sum(rate({part}[5m])) / sum(rate({whole}[5m]))"


def _router(ref: service.ServiceRef, lane: specs.Lane, *more: str) -> str:
    """Return the selector of a lane's series at the service's routers."""
    pods = names.router(ref.name).replace(".", "[.]")
    matchers = [f'namespace="{ref.namespace}"', f'pod=~"{pods}-[a-z0-9]+-[a-z0-9]+"', f'{metrics.LANE}="{lane.name}"', *more]
    return "{" + ",".join(matchers) + "}"


def _own(ref: service.ServiceRef) -> str:
    """Return the selector of the operator's own series of the service."""
    return f'{{fairlane_namespace="{ref.namespace}",fairlane_service="{ref.name}"}}'
