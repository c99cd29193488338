"""What the API server says, and what a pass makes of it."""

import datetime
from typing import Any

import pytest

from fairlane.core import names, observed
from fairlane.core.load import document as load
from fairlane.core.routing import document
from fairlane.shell import convert, convert_pods

Object = dict[str, Any]

LABELS = {names.SERVICE_LABEL: "assistant", names.COMPONENT_LABEL: "engine", names.LANE_LABEL: "chat", names.REVISION_LABEL: "abc-1"}
AT = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
SPEC: Object = {
    "model": {"uri": "file:///m"},
    "engine": {"image": "vllm/vllm-openai:v0.32.0"},
    "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
    "router": {"defaultLane": "chat"},
}


def service(spec: object = SPEC, status: object = None, command: str | None = None) -> convert.Service:
    annotations = {"annotations": {names.COMMAND_ANNOTATION: command}} if command is not None else {}
    metadata = {"name": "assistant", "namespace": "llm", "uid": "u", "generation": 3, **annotations}
    return convert.service({"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            SPEC | {"lanes": [{"name": "chat", "profile": "Fast", "replicas": 1}]},
            "spec.lanes[0].profile: \"Fast\": Input should be 'Interactive', 'LongContext' or 'Throughput'",
            id="an enum names field, value and choices",
        ),
        pytest.param(
            SPEC | {"lanes": [{"name": "chat", "profile": "Interactive"}]}, "spec.lanes[0].replicas: is required", id="a missing field is named"
        ),
        pytest.param(None, "spec: null: Input should be a valid dictionary or instance of LLMServiceSpec", id="no spec at all"),
    ],
)
def test_a_spec_that_does_not_validate(spec: object, expected: str) -> None:
    found = service(spec)
    assert (found.spec, found.spec_error) == (None, expected)


def test_a_spec_with_many_errors_names_the_first_and_counts_the_rest() -> None:
    text = service({f"unknown{number}": number for number in range(9)}).spec_error
    assert text.count("; ") == 5
    assert text.endswith("and 8 more")


def test_what_senders_were_told_is_read_by_lane_and_what_cannot_be_read_is_left_out() -> None:
    told = load.Load(url="http://r", lane="chat", model="m", key="k", rate=1.0, max_requests=1, in_flight=1, prompt_tokens=(1,), output_tokens=(1,))
    labels = {names.COMPONENT_LABEL: "load", names.LANE_LABEL: "chat"}
    things: list[Object] = [
        {"metadata": {"name": "assistant-chat-load", "labels": labels}, "data": {load.KEY: told.model_dump_json()}},
        {"metadata": {"name": "assistant-docs-load", "labels": labels | {names.LANE_LABEL: "docs"}}, "data": {load.KEY: "{"}},
        {"metadata": {"name": "assistant-routes", "labels": {names.COMPONENT_LABEL: "router"}}, "data": {"routes.json": "{}"}},
    ]
    assert convert.loads(things) == {"chat": told}


def test_a_good_service() -> None:
    found = service()
    assert found.spec_error == ""
    assert found.spec is not None
    assert (found.name, found.namespace, found.uid, found.generation) == ("assistant", "llm", "u", 3)


def test_a_status_that_is_none_stops_the_pass() -> None:
    with pytest.raises(convert.Unreadable, match=r"status\.lanes\[0\]\.phase: \"Flying\""):
        service(status={"lanes": [{"name": "chat", "phase": "Flying"}]})


@pytest.mark.parametrize(
    ("text", "command", "complaint"),
    [
        pytest.param(None, None, "", id="no command"),
        pytest.param('{"command":"abort","lane":"chat","revision":"a-1","id":"7"}', observed.Command("abort", "chat", "a-1", "7"), "", id="a command"),
        pytest.param("abort", None, "is no command", id="no JSON"),
        pytest.param("[1]", None, "is no command", id="no object"),
        pytest.param('{"command":"abort"}', None, "is no command", id="a field is missing"),
        pytest.param('{"command":"abort","lane":1,"revision":"a-1","id":"7"}', None, "no string", id="a field that is no string"),
    ],
)
def test_commands(text: str | None, command: observed.Command | None, complaint: str) -> None:
    found = service(command=text)
    assert found.command == command
    assert complaint in found.command_error
    assert bool(complaint) == bool(found.command_error)


def pod(**status: Any) -> observed.Pod:
    metadata = {"name": "p", "labels": LABELS, "creationTimestamp": "2026-01-01T12:00:00Z"}
    return convert_pods.engine({"metadata": metadata, "status": status})


def engine(**state: Any) -> Object:
    return {"name": "engine", "ready": False, "restartCount": 0, "state": {}, **state}


CRASH: Object = {"terminated": {"reason": "Error", "exitCode": 1, "message": "error: unrecognized arguments: --max-num-seq"}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, observed.Container(), id="nothing is known yet"),
        pytest.param(
            {"containerStatuses": [{"name": "sidecar", "ready": True}, engine(ready=True, state={"running": {}})]},
            observed.Container(ready=True),
            id="the engine container counts, whatever stands beside it",
        ),
        pytest.param(
            {"containerStatuses": [engine(restartCount=2, state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}, lastState=CRASH)]},
            observed.Container(
                restarts=2,
                waiting_reason="CrashLoopBackOff",
                waiting_message="back-off",
                terminated_reason="Error",
                terminated_message="error: unrecognized arguments: --max-num-seq",
                exit_code=1,
            ),
            id="a crash loop keeps the last termination's words",
        ),
        pytest.param(
            {"containerStatuses": [engine(state={"terminated": {"reason": "OOMKilled", "exitCode": 137}}, lastState=CRASH)]},
            observed.Container(terminated_reason="OOMKilled", exit_code=137),
            id="a termination now goes before the last",
        ),
        pytest.param(
            {
                "initContainerStatuses": [{"name": "fetch", "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": CRASH}],
                "containerStatuses": [engine(state={"waiting": {"reason": "PodInitializing"}})],
            },
            observed.Container(
                restarts=1,
                waiting_reason="CrashLoopBackOff",
                terminated_reason="Error",
                terminated_message="error: unrecognized arguments: --max-num-seq",
                exit_code=1,
            ),
            id="an init container that crashes is why the engine does not start",
        ),
        pytest.param(
            {
                "initContainerStatuses": [{"name": "fetch", "ready": True, "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}],
                "containerStatuses": [engine(state={"waiting": {"reason": "ErrImagePull", "message": "not found"}})],
            },
            observed.Container(waiting_reason="ErrImagePull", waiting_message="not found"),
            id="an image that cannot be pulled",
        ),
    ],
)
def test_containers(status: Object, expected: observed.Container) -> None:
    assert pod(**status).container == expected


def test_a_pod_that_cannot_be_scheduled_says_so_in_the_schedulers_words() -> None:
    words = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    found = pod(phase="Pending", conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}])
    assert (found.unschedulable, found.scheduled_at, found.ready) == (words, None, False)


def test_a_pod_that_serves() -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z"}]
    found = pod(phase="Running", conditions=conditions)
    assert (found.lane, found.revision, found.ready, found.scheduled_at, found.created, found.unschedulable) == ("chat", "abc-1", True, AT, AT, "")


def reader(**status: Any) -> Object:
    labels = {names.SERVICE_LABEL: "assistant", names.COMPONENT_LABEL: "model"}
    return {"metadata": {"name": "assistant-model-1", "labels": labels, "creationTimestamp": "2026-01-01T12:00:00Z"}, "status": status}


ENDED: Object = {"name": "model", "state": {"terminated": {"reason": "Completed", "exitCode": 0, "message": "{}"}}}
SCHEDULER: Object = {"type": "PodScheduled", "status": "False", "message": "no node"}


@pytest.mark.parametrize(("thing", "expected"), [
    pytest.param(reader(), {}, id="nothing is known yet"),
    pytest.param({"metadata": reader()["metadata"]}, {}, id="without a status"),
    pytest.param(reader(conditions=[SCHEDULER]), {"unschedulable": "no node"}, id="no node takes it"),
    pytest.param(reader(conditions=[SCHEDULER | {"status": "True"}]), {}, id="a node took it"),
    pytest.param(
        reader(phase="Succeeded", containerStatuses=[{"name": "proxy", "state": {}}, ENDED]),
        {"phase": "Succeeded", "container": observed.Container(terminated_reason="Completed", terminated_message="{}", exit_code=0)},
        id="its own container counts, whatever stands beside it",
    ),
    pytest.param(
        reader(containerStatuses=[{"name": "model", "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]),
        {"container": observed.Container(waiting_reason="ErrImagePull", waiting_message="not found")},
        id="an image that cannot be pulled",
    ),
    pytest.param(
        reader(phase="Failed", reason="DeadlineExceeded", message="Pod was active too long"),
        {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active too long"},
        id="Kubernetes ended it",
    ),
])
def test_pods_that_read_a_model(thing: Object, expected: dict[str, Any]) -> None:
    assert convert_pods.model_readers([thing]) == (observed.ModelReader("assistant-model-1", AT, **expected),)


def test_a_pod_that_reads_a_model_is_no_engine_and_no_router() -> None:
    assert (convert_pods.engines([reader()]), convert_pods.routers([reader()], [])) == ((), ())
    assert convert_pods.model_readers([{"metadata": {"name": "p", "labels": LABELS}}]) == ()


STATE = document.RouterState(version="v1", endpoints={"chat/abc-1": 2})


@pytest.mark.parametrize(
    ("lease", "expected"),
    [
        pytest.param({"owner": "pod-1", "text": STATE.model_dump_json()}, STATE, id="an agent's words"),
        pytest.param({"owner": "pod-0", "text": STATE.model_dump_json()}, None, id="the words of a pod that is gone are not this one's"),
        pytest.param({"owner": "pod-1", "text": "v1"}, None, id="words that are none acknowledge nothing"),
        pytest.param({"owner": "pod-1", "text": ""}, None, id="an agent that said nothing yet"),
    ],
)
def test_routers(lease: dict[str, str], expected: document.RouterState | None) -> None:
    labels = LABELS | {names.COMPONENT_LABEL: "router"}
    metadata = {"name": "r", "uid": "pod-1", "labels": labels, "creationTimestamp": "2026-01-01T12:00:00Z"}
    pods = [{"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}]
    owner = [{"kind": "Pod", "name": "r", "uid": lease["owner"]}]
    leases = [{"metadata": {"name": "r", "ownerReferences": owner, "annotations": {names.ROUTER_STATE_ANNOTATION: lease["text"]}}}]
    assert convert_pods.routers(pods, leases) == (observed.RouterPod("r", ready=True, state=expected, created=AT),)


def test_a_route_document_that_cannot_be_read_counts_as_none() -> None:
    things = [{"metadata": {"name": "assistant-routes"}, "data": {document.KEY: "{"}}]
    assert convert.routes(things, "assistant-routes") is None
