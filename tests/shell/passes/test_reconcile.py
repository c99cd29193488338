"""A pass against an API server: what is written, in which order, and what happens when it fails."""

import asyncio
import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

import pytest

from fairlane.api import status as statuses
from fairlane.core import names, observed, planned
from fairlane.core.judge import types as judging
from fairlane.core.routing import document
from fairlane.shell import kube, observe, prometheus, reconcile, telemetry, write

Object = dict[str, Any]

KEY = ("llm", "assistant")
NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)
SPEC: Object = {
    "model": {"uri": "file:///m"},
    "engine": {"image": "vllm/vllm-openai:v0.32.0"},
    "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
    "router": {"defaultLane": "chat"},
}
READY = statuses.Condition(type="Ready", status="True", reason="Serving", last_transition_time="2026-01-01T12:00:00Z")


def service(**more: Any) -> Object:
    metadata = {"name": "assistant", "namespace": "llm", "uid": "u-1"}
    return {"apiVersion": "fairlane.dev/v1alpha1", "kind": "LLMService", "metadata": metadata, "spec": SPEC, **more}


def child(value: observed.Observed, kind: str, name: str, **body: Any) -> Object:
    version = {"Deployment": "apps/v1"}.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": value.ref.metadata(name, names.labels(value.name, "router")), **body}


def usual(value: observed.Observed) -> planned.Plan:
    """Two objects, a status and, when it changes, an event."""
    status = statuses.LLMServiceStatus(observed_generation=value.generation, conditions=[READY])
    return planned.Plan(
        apply=(
            child(value, "ConfigMap", "assistant-routes", data={"routes.json": "{}"}),
            child(value, "Deployment", "assistant-router", spec={"replicas": 2, "cpu": "1000m"}),
        ),
        delete=tuple(planned.Delete(one.api_version, one.kind, one.name) for one in value.children if one.name == "old"),
        status=status,
        events=() if value.status.conditions else (planned.Event("Normal", "Created", "The service was created."),),
        renew_heartbeat=False,
        wake_after=30.0,
    )


@dataclasses.dataclass
class Bench:
    """A reconciler and what it is made of."""

    stub: Any
    api: kube.Kube
    decide: Callable[[observed.Observed], planned.Plan] = usual
    now: datetime.datetime = NOW
    leading: bool = True
    gathered: prometheus.Gathered = prometheus.Gathered()
    seen: list[observed.Observed] = dataclasses.field(default_factory=list)
    counters: telemetry.Telemetry = dataclasses.field(default_factory=telemetry.Telemetry)

    def reconciler(self) -> reconcile.Reconciler:
        """Return one that knows nothing yet, as after a restart."""

        async def gather(value: observed.Observed) -> prometheus.Gathered:
            return self.gathered

        async def model(value: observed.Observed) -> None:
            return None

        async def gpus(value: observed.Observed) -> frozenset[str]:
            return frozenset()

        def decide(value: observed.Observed) -> planned.Plan:
            self.seen.append(value)
            return self.decide(value)

        parts = reconcile.Parts(
            observer=observe.Observer(self.api, observed.Settings()),
            writer=write.Writer(self.api, self.counters),
            gather=gather,
            model=model,
            gpus=gpus,
            decide=decide,
            counters=self.counters,
            leads=lambda: self.leading,
            now=lambda: self.now,
        )
        return reconcile.Reconciler(parts)


@pytest.fixture
def bench(stub: Any, api: kube.Kube) -> Bench:
    stub.put("llmservices", service())
    return Bench(stub, api)


def paths(bench: Bench) -> list[str]:
    """What was written, in order, without the API's prefix."""
    return [f"{method} {path.split('/namespaces/llm/')[1]}" for method, path in bench.stub.writes]


ALL = ["PATCH configmaps/assistant-routes", "PATCH deployments/assistant-router", "PUT llmservices/assistant/status", "POST events"]


async def test_the_first_pass_writes_everything_in_order(bench: Bench) -> None:
    assert await bench.reconciler().reconcile(KEY) == 30.0
    assert paths(bench) == ALL


async def test_a_second_pass_writes_nothing(bench: Bench) -> None:
    reconciler = bench.reconciler()
    await reconciler.reconcile(KEY)
    bench.stub.forget()
    await reconciler.reconcile(KEY)
    assert paths(bench) == []


async def test_a_restarted_operator_writes_nothing(bench: Bench) -> None:
    await bench.reconciler().reconcile(KEY)
    bench.stub.forget()
    await bench.reconciler().reconcile(KEY)
    assert paths(bench) == []


@pytest.mark.parametrize("failing", ["configmaps", "deployments", "status"], ids=lambda where: f"killed at {where}")
async def test_a_pass_that_was_cut_is_completed_by_the_next(bench: Bench, failing: str) -> None:
    bench.stub.fail("PUT" if failing == "status" else "PATCH", failing, 500)
    with pytest.raises(kube.Unavailable):
        await bench.reconciler().reconcile(KEY)
    await bench.reconciler().reconcile(KEY)
    assert bench.stub.named("configmaps") == ["assistant-routes"]
    assert bench.stub.named("deployments") == ["assistant-router"]
    assert bench.stub.objects["llmservices", *KEY]["status"]["conditions"][0]["type"] == "Ready"
    assert len(bench.stub.named("events")) == 1


async def test_drift_by_hand_is_corrected(bench: Bench) -> None:
    reconciler = bench.reconciler()
    await reconciler.reconcile(KEY)
    bench.stub.objects["deployments", "llm", "assistant-router"]["spec"]["replicas"] = 0
    bench.stub.forget()
    await reconciler.reconcile(KEY)
    assert paths(bench) == ["PATCH deployments/assistant-router"]
    assert bench.stub.objects["deployments", "llm", "assistant-router"]["spec"]["replicas"] == 2


async def test_what_the_api_server_spells_otherwise_is_applied_once_and_no_more(bench: Bench) -> None:
    await bench.reconciler().reconcile(KEY)
    stored = bench.stub.objects["deployments", "llm", "assistant-router"]
    put = bench.stub.put

    def respelled(plural: str, thing: Object) -> Object:
        return put(plural, thing | {"spec": thing["spec"] | {"cpu": "1"}} if plural == "deployments" else thing)

    bench.stub.put = respelled
    stored["spec"]["cpu"] = "1"
    reconciler = bench.reconciler()
    bench.stub.forget()
    for _ in range(3):
        await reconciler.reconcile(KEY)
    assert paths(bench) == ["PATCH deployments/assistant-router"]


async def test_a_changed_object_is_applied(bench: Bench) -> None:
    reconciler = bench.reconciler()
    await reconciler.reconcile(KEY)
    bench.stub.forget()
    bench.decide = lambda value: dataclasses.replace(usual(value), apply=(child(value, "ConfigMap", "assistant-routes", data={"routes.json": "new"}),))
    await reconciler.reconcile(KEY)
    assert paths(bench) == ["PATCH configmaps/assistant-routes"]


async def test_deletes_come_after_the_applies_and_hit_only_what_is_there(bench: Bench) -> None:
    await bench.reconciler().reconcile(KEY)
    owner = bench.seen[0].ref
    bench.stub.put("services", {"apiVersion": "v1", "kind": "Service", "metadata": owner.metadata("old", names.labels("assistant", "engine"))})
    bench.stub.forget()
    reconciler = bench.reconciler()
    await reconciler.reconcile(KEY)
    await reconciler.reconcile(KEY)
    assert paths(bench) == ["DELETE services/old"]


async def test_objects_of_an_earlier_service_of_the_same_name_are_not_ours(bench: Bench) -> None:
    stranger = dataclasses.replace(observed.Observed("assistant", "llm", "u-0", 1, NOW, None).ref, uid="u-0")
    bench.stub.put("services", {"apiVersion": "v1", "kind": "Service", "metadata": stranger.metadata("old", names.labels("assistant", "engine"))})
    await bench.reconciler().reconcile(KEY)
    assert bench.seen[0].children == ()


@pytest.mark.parametrize("state", [None, "2026-01-01T00:00:00Z"], ids=["gone", "going"])
async def test_a_service_that_is_deleted_is_left_to_the_garbage_collector(bench: Bench, state: str | None) -> None:
    if state is None:
        bench.stub.remove("llmservices", *KEY)
    else:
        bench.stub.objects["llmservices", *KEY]["metadata"]["deletionTimestamp"] = state
    assert await bench.reconciler().reconcile(KEY) is None
    assert paths(bench) == []


async def test_a_status_conflict_puts_the_pass_off(bench: Bench) -> None:
    def meddling(value: observed.Observed) -> planned.Plan:
        bench.stub.put("llmservices", service(spec=SPEC | {"router": {"defaultLane": "chat", "replicas": 3}}))
        return usual(value)

    bench.decide = meddling
    assert await bench.reconciler().reconcile(KEY) == 0.5
    assert bench.stub.named("events") == []
    bench.decide = usual
    assert await bench.reconciler().reconcile(KEY) == 30.0
    assert len(bench.stub.named("events")) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/pods", 500, id="a list fails"),
        pytest.param("GET", "/llmservices", 0, id="the API server does not answer"),
        pytest.param("PATCH", "/configmaps", 429, id="the API server is overloaded"),
    ],
)
async def test_an_api_server_in_trouble_fails_the_pass_and_the_status_stays(bench: Bench, method: str, path: str, status: int) -> None:
    bench.stub.fail(method, path, status)
    with pytest.raises(kube.Unavailable):
        await bench.reconciler().reconcile(KEY)
    assert "status" not in bench.stub.objects["llmservices", *KEY]


async def test_what_the_api_server_refuses_is_said_in_the_status_once(bench: Bench) -> None:
    bench.stub.fail("PATCH", "/deployments", 422, times=2)
    reconciler = bench.reconciler()
    for _ in range(2):
        with pytest.raises(kube.Rejected):
            await reconciler.reconcile(KEY)
    (condition,) = bench.stub.objects["llmservices", *KEY]["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Stalled", "True", "ApplyRejected")
    assert "told to answer 422" in condition["message"]
    assert "deployments/assistant-router" in condition["message"]
    assert len(bench.stub.named("events")) == 1


async def test_a_namespace_that_is_going_is_no_fault_of_the_spec(bench: Bench) -> None:
    bench.stub.fail("PATCH", "/deployments", 403, cause="NamespaceTerminating")
    assert await bench.reconciler().reconcile(KEY) == 5.0
    assert "status" not in bench.stub.objects["llmservices", *KEY]


async def test_a_lost_event_does_not_fail_the_pass(bench: Bench) -> None:
    bench.stub.fail("POST", "/events", 403)
    assert await bench.reconciler().reconcile(KEY) == 30.0


async def test_nothing_is_written_without_the_lease(bench: Bench) -> None:
    bench.leading = False
    assert await bench.reconciler().reconcile(KEY) == 0.5
    assert bench.stub.requests == []


async def test_a_command_that_is_none_is_told_once(bench: Bench) -> None:
    bench.stub.objects["llmservices", *KEY]["metadata"]["annotations"] = {names.COMMAND_ANNOTATION: "promote!"}
    reconciler = bench.reconciler()
    for _ in range(3):
        await reconciler.reconcile(KEY)
    messages = [thing["message"] for (kind, _, _), thing in bench.stub.objects.items() if kind == "events" and thing["reason"] == "CommandIgnored"]
    assert len(messages) == 1
    assert "'promote!'" in messages[0]


def reading(value: observed.Observed) -> planned.Plan:
    """A pod is tried beside the rest."""
    pod = child(value, "Pod", "assistant-model-1", spec={"restartPolicy": "Never"})
    pod["metadata"]["labels"] = names.labels(value.name, "model")
    return dataclasses.replace(usual(value), attempt=() if value.model_readers else (pod,))


@pytest.mark.parametrize("status", [None, 403, 409, 422, 500], ids=["taken", "forbidden", "there already", "refused", "a webhook that is away"])
async def test_what_is_only_tried_comes_last_and_stops_nothing(bench: Bench, status: int | None) -> None:
    bench.decide = reading
    if status is not None:
        bench.stub.fail("POST", "/pods", status)
    assert await bench.reconciler().reconcile(KEY) == 30.0
    assert paths(bench) == [*ALL, "POST pods"]
    assert len(bench.stub.named("pods")) == (status is None)


async def test_a_pod_that_reads_a_model_is_seen_where_it_is_the_services_own(bench: Bench) -> None:
    bench.decide = reading
    reconciler = bench.reconciler()
    await reconciler.reconcile(KEY)
    other = dataclasses.replace(bench.seen[0].ref, uid="u-0").metadata("assistant-model-2", names.labels("assistant", "model"))
    bench.stub.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": other})
    await reconciler.reconcile(KEY)
    assert [reader.name for reader in bench.seen[-1].model_readers] == ["assistant-model-1"]
    assert [one.name for one in bench.seen[-1].children if one.kind == "Pod"] == ["assistant-model-1"]
    assert bench.stub.named("pods") == ["assistant-model-1", "assistant-model-2"]


def beating(value: observed.Observed) -> planned.Plan:
    """A canary has weight, and the routes stay as they are."""
    return dataclasses.replace(usual(value), apply=usual(value).apply[1:], renew_heartbeat=True)


@pytest.fixture
async def weighing(bench: Bench) -> Bench:
    """A service whose canary has weight already."""
    tracks = (document.Track(role="stable", revision="a-1", weight=90), document.Track(role="canary", revision="b-1", weight=10))
    lanes = (document.LaneRoute(name="chat", tracks=tracks),)
    routes = document.RouteDocument(namespace="llm", service="assistant", model="default", default_lane="chat", lanes=lanes)
    await bench.reconciler().reconcile(KEY)
    bench.stub.objects["configmaps", "llm", "assistant-routes"]["data"] = {document.KEY: routes.model_dump_json()}
    bench.decide = beating
    bench.stub.forget()
    return bench


HEARTBEAT = "PATCH leases/assistant-heartbeat"


async def test_the_heartbeat_is_renewed_at_a_quarter_of_the_fail_safe_time(weighing: Bench) -> None:
    reconciler = weighing.reconciler()
    written = []
    for seconds in (0, 2, 15, 16, 30):
        weighing.now = NOW + datetime.timedelta(seconds=seconds)
        assert await reconciler.reconcile(KEY) == 15.0
        written.append(paths(weighing))
        weighing.stub.forget()
    assert written == [[HEARTBEAT], [], [HEARTBEAT], [], [HEARTBEAT]]
    assert weighing.stub.objects["leases", "llm", "assistant-heartbeat"]["spec"]["renewTime"] == "2026-01-01T12:00:30.000000Z"


async def test_the_heartbeat_comes_last(weighing: Bench) -> None:
    weighing.stub.objects["deployments", "llm", "assistant-router"]["spec"]["replicas"] = 0
    await weighing.reconciler().reconcile(KEY)
    assert paths(weighing) == ["PATCH deployments/assistant-router", HEARTBEAT]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/pods", 500), ("PATCH", "/deployments", 422)], ids=["to see", "to write"])
async def test_a_pass_that_fails_renews_no_heartbeat(weighing: Bench, method: str, path: str, status: int) -> None:
    weighing.stub.objects["deployments", "llm", "assistant-router"]["spec"]["replicas"] = 0
    weighing.stub.fail(method, path, status)
    with pytest.raises(kube.KubeError):
        await weighing.reconciler().reconcile(KEY)
    assert HEARTBEAT not in paths(weighing)


async def test_the_heartbeat_comes_first_where_the_canary_gets_its_first_weight(bench: Bench) -> None:
    bench.decide = lambda value: dataclasses.replace(usual(value), renew_heartbeat=True)
    await bench.reconciler().reconcile(KEY)
    assert paths(bench)[:2] == [HEARTBEAT, "PATCH configmaps/assistant-routes"]
    assert paths(bench).count(HEARTBEAT) == 1


async def test_evidence_that_takes_too_long_is_unavailable(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "_EVIDENCE_LIMIT", 0.05)
    status = statuses.LLMServiceStatus(lanes=[statuses.LaneStatus(name="chat", stable="a-1", canary="b-1")])
    bench.stub.objects["llmservices", *KEY]["status"] = status.dump()
    reconciler = bench.reconciler()

    async def never(value: observed.Observed) -> prometheus.Gathered:
        await asyncio.Event().wait()
        return prometheus.Gathered()

    reconciler._parts = dataclasses.replace(reconciler._parts, gather=never)
    await reconciler.reconcile(KEY)
    evidence = bench.seen[0].evidence["chat"]
    assert isinstance(evidence, judging.Unavailable)
    assert evidence.reason == "PrometheusUnreachable"


async def test_evidence_and_rates_reach_the_decision(bench: Bench) -> None:
    status = statuses.LLMServiceStatus(lanes=[statuses.LaneStatus(name="chat", stable="a-1", canary="b-1")])
    bench.stub.objects["llmservices", *KEY]["status"] = status.dump()
    bench.gathered = prometheus.Gathered({"chat": judging.Unavailable("NoSeries", "none")}, {"chat": 2.5})
    await bench.reconciler().reconcile(KEY)
    assert (bench.seen[0].evidence, bench.seen[0].rates) == (bench.gathered.evidence, {"chat": 2.5})


async def test_passes_and_writes_are_counted(bench: Bench) -> None:
    bench.stub.fail("GET", "/pods", 500)
    with pytest.raises(kube.Unavailable):
        await bench.reconciler().reconcile(KEY)
    await bench.reconciler().reconcile(KEY)
    value = bench.counters.registry.get_sample_value
    assert value("fairlane_reconciles_total", {"result": "success"}) == 1
    assert value("fairlane_reconciles_total", {"result": "error"}) == 1
    assert value("fairlane_reconcile_errors_total", {"reason": "Unavailable"}) == 1
    assert value("fairlane_writes_total", {"verb": "apply", "kind": "Deployment"}) == 1
    assert value("fairlane_service_ready", {"fairlane_namespace": "llm", "fairlane_service": "assistant"}) == 1
