"""What the canary's pods say."""

import dataclasses
import datetime

import pytest
from tests.unit.rollout import views

from fairlane.core import observed
from fairlane.core.engine import failures
from fairlane.core.rollout import advice, loading, rollback, view


def _crashed(words: str = "", reason: str = "Error", restarts: int = 0) -> observed.Container:
    return observed.Container(restarts=restarts, terminated_reason=reason, terminated_message=words, exit_code=1)


def _waits(reason: str, words: str = "the registry said no") -> observed.Container:
    return observed.Container(waiting_reason=reason, waiting_message=words)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (views.pod(), None),
        (views.pod(ready=False), None),
        (views.pod(container=_crashed()), "CanaryCrashed"),
        (views.pod(container=observed.Container(restarts=1)), "CanaryCrashed"),
        (views.pod(container=_waits("CrashLoopBackOff")), "CanaryCrashed"),
        (views.pod(container=_crashed(reason="OOMKilled")), "OutOfMemory"),
        (views.pod(container=_crashed("x\nValueError: No available memory for the cache blocks.\n")), "NoCacheMemory"),
        (views.pod(container=_crashed("vllm serve: error: unrecognized arguments: --nope")), "UnknownFlag"),
        (views.pod(container=_waits("InvalidImageName")), "ImageError"),
        (views.pod(container=_waits("ImagePullBackOff")), "ImageError"),
        (views.pod(container=_waits("ErrImagePull"), scheduled_at=views.NOW - datetime.timedelta(seconds=20)), None),
        (views.pod(container=_waits("CreateContainerConfigError")), "ContainerConfigError"),
        (views.pod(container=_waits("ContainerCreating")), None),
        (views.pod(container=_crashed(), terminating=True), None),
        (views.pod(container=_crashed(), phase="Failed"), None),
        (views.pod(revision=views.STABLE, container=_crashed()), None),
    ],
    ids=[
        "a ready pod is fine", "a loading one too", "one that ended by itself is not", "nor one that was started again", "nor one in back-off",
        "the kernel killed it",
        "the GPU is too small", "a flag is unknown", "the image's name is none", "the image cannot be pulled", "a registry's hiccup is forgiven",
        "a Secret is missing",
        "being created is fine", "a terminating pod tells nothing", "an evicted pod tells nothing", "the stable's pods are not the canary's fault",
    ],
)
def test_failures(pod: observed.Pod, expected: str | None) -> None:
    found = loading.failure(views.lane(pods=(pod,)), views.CANARY)
    assert expected == (found.reason if found else None)


KV = """(EngineCore pid=68) ERROR 11-29 12:01:07 [core.py:1584] ValueError: To serve at least one request with the model's max seq len (29000), (3.54 GiB \
KV cache is needed, which is larger than the available KV cache memory (2.56 GiB). Based on the available memory, the estimated maximum model length is 20970.
"""


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param(
            _crashed(KV),
            "pod bbbbbbbb-1-x ended by itself (Error, exit code 1, 0 restarts): one sequence of 29,000 tokens needs 3.54 GiB of KV cache, the GPU has 2.56 GiB "
            "left; what to do: largest maxModelLen that fits: 20,970 (set spec.lanes[chat].scheduler.maxModelLen to that or less, match.maxPromptTokens below "
            "it), or make room: gpuMemoryUtilization, tensorParallelSize, flags kv-cache-dtype fp8; it said: ValueError: To serve at least one request with "
            "the model's max seq len (29000), (3.54 GiB KV cache is needed, which is larger than the available KV cache memor…",
            id="vLLM's own number",
        ),
        pytest.param(
            _crashed("one\nRuntimeError: the end\n", restarts=2),
            "pod bbbbbbbb-1-x ended by itself (Error, exit code 1, 2 restarts): the kind of this failure is not known, its last words: RuntimeError: the end; "
            "what to do: read the engine's log where your cluster keeps logs; `fairlane retry` if the cause was not the change",
            id="nobody knows this one, and its words are not told twice",
        ),
        pytest.param(
            observed.Container(waiting_reason="CrashLoopBackOff", waiting_message="back-off 40s restarting failed container", restarts=3),
            "pod bbbbbbbb-1-x ended by itself (Error, unknown exit code, 3 restarts): the kind of this failure is not known, its last words: back-off 40s "
            "restarting failed container; what to do: read the engine's log where your cluster keeps logs; `fairlane retry` if the cause was not the change",
            id="only Kubernetes says something",
        ),
        pytest.param(
            _waits("ImagePullBackOff"),
            "pod bbbbbbbb-1-x: ImagePullBackOff: the registry said no; what to do: check spec.engine.image, and where its registry wants a password, "
            "imagePullSecrets in spec.engine.pod",
            id="an image that cannot be pulled",
        ),
        pytest.param(
            _waits("CreateContainerConfigError", 'secret "hf-token" not found'),
            "pod bbbbbbbb-1-x: CreateContainerConfigError: secret \"hf-token\" not found; what to do: create the Secret, ConfigMap or key that its words "
            "name in this namespace, or correct the name (spec.model.tokenSecretRef, spec.engine.pod)",
            id="a Secret that is missing",
        ),
    ],
)
def test_the_message_says_what_failed_and_what_to_do(container: observed.Container, expected: str) -> None:
    found = loading.failure(views.lane(pods=(views.pod(container=container),)), views.CANARY)
    assert found is not None
    assert expected == found.message


def test_more_of_the_log_is_searched_where_the_last_words_are_a_consequence() -> None:
    consequence = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
    container = dataclasses.replace(_crashed(consequence), log=f"{KV}{consequence}")
    found = loading.failure(views.lane(pods=(views.pod(container=container),)), views.CANARY)
    assert found is not None
    assert (found.reason, "fits: 20,970" in found.message) == ("KVCacheTooSmall", True)


@pytest.mark.parametrize(
    ("words", "log", "expected"),
    [
        pytest.param("ValueError: No available memory for the cache blocks.", KV, "NoCacheMemory", id="the last words are the nearer ones"),
        pytest.param("KeyError: 1", "KeyError: 2", "its last words: KeyError: 1;", id="a log that says no more"),
        pytest.param("Engine core initialization failed", "quiet", "its engine process ended while it started", id="a log that was rotated away"),
    ],
)
def test_the_last_words_come_first(words: str, log: str, expected: str) -> None:
    container = dataclasses.replace(_crashed(words), log=log)
    found = loading.failure(views.lane(pods=(views.pod(container=container),)), views.CANARY)
    assert found is not None
    assert expected in f"{found.reason} {found.message}"


EXAMPLES = [pytest.param(pattern, id=f"{pattern.kind}: {pattern.sentence}") for pattern in failures.patterns() if pattern.example]


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_the_remedy_survives_wherever_the_message_is_cut(pattern: failures.Pattern) -> None:
    """Names are as long as they can be: a lane's 20 characters, a pod's 63."""
    pod = views.pod(name="p" * 63, lane="l" * 20, container=_crashed(f"{pattern.example}\n", restarts=100))
    lane = views.lane(pods=(pod,))
    found = loading.failure(lane, views.CANARY)
    assert found is not None
    remedy = failures.classify(pattern.example, reason="Error", exit_code=1, lane="l" * 20).remedy
    rolled = rollback.trouble(lane, lane.status, found)
    long_ago = view.changed(rolled.status, weight=0, phase_since=views.ago(10_000))
    ended = rollback.proceed(dataclasses.replace(lane, status=long_ago, pods=(), deployments=()))
    assert ended.record is not None
    assert remedy == advice.parts(ended.record.message).remedy
    assert [event for event in (*rolled.events, *ended.events) if f"; what to do: {remedy}" not in event.message] == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            "b-1 was rolled back before it had any traffic: pod p ended by itself (Error, exit code 1, 0 restarts): a: b; what to do: c: d; e; it said: f; g",
            advice.Advice("b-1 was rolled back before it had any traffic: pod p ended by itself (Error, exit code 1, 0 restarts)", "a: b", "c: d; e", "f; g"),
            id="a crash",
        ),
        pytest.param("not ready within 30m; what to do: wait", advice.Advice("not ready within 30m", "", "wait"), id="a deadline"),
        pytest.param("TTFT: 10 of 21 took longer", advice.Advice("TTFT: 10 of 21 took longer"), id="a verdict"),
        pytest.param("", advice.Advice(""), id="nothing"),
    ],
)
def test_the_parts_of_a_message(message: str, expected: advice.Advice) -> None:
    assert expected == advice.parts(message)


def test_what_the_sentence_has_already_is_not_said_again() -> None:
    assert advice.joined("it said boo", "run", "boo") == "it said boo; what to do: run"


@pytest.mark.parametrize(
    ("since", "expected"), [(None, False), (1000, False), (1800, True), (5000, True)], ids=["not scheduled", "in time", "just over", "long over"],
)
def test_the_load_deadline(since: float | None, expected: bool) -> None:
    seen = views.lane({"loading_since": views.ago(since) if since is not None else None})
    assert expected == (loading.overdue(seen, seen.status) is not None)


def test_a_missed_deadline_has_the_engines_last_words() -> None:
    container = observed.Container(log="(EngineCore pid=68) INFO 11-29 12:00:01 [a.py:1] Starting to load model /m...\nLoading: 25%\rLoading: 50%\n")
    seen = views.lane({"loading_since": views.ago(1800)}, pods=(views.pod(ready=False, container=container),))
    found = loading.overdue(seen, seen.status)
    assert found is not None
    assert found.message.endswith("; it said: Loading: 50%")


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param((views.pod(ready=False),), "; pod bbbbbbbb-1-x runs, and its engine has not answered on /health", id="it loads"),
        pytest.param(
            (views.pod(ready=False, container=_waits("PodInitializing", "")), views.pod()), "; pod bbbbbbbb-1-x: PodInitializing", id="Kubernetes has one word"
        ),
        pytest.param(
            (views.pod(ready=False, container=_waits("ContainerCreating", "waiting for volume a\n")),),
            "; pod bbbbbbbb-1-x: ContainerCreating: waiting for volume a", id="and more",
        ),
        pytest.param((views.pod(),), "", id="the pod is ready, only the replicas are not enough"),
        pytest.param((), "", id="no pod is left"),
    ],
)
def test_a_missed_deadline_says_what_the_pod_waits_for(pods: tuple[observed.Pod, ...], expected: str) -> None:
    seen = views.lane({"loading_since": views.ago(1800)}, pods=pods)
    found = loading.overdue(seen, seen.status)
    assert found is not None
    assert found.message == (
        f"not ready within 30m of being scheduled (rollout.loadDeadline){expected}; what to do: raise spec.rollout.loadDeadline if loading needs longer, "
        "or make it faster: weights in a claim (spec.model.cache.claimName), a faster disk"
    )


@pytest.mark.parametrize(
    ("pods", "phase_since", "expected"),
    [
        ((views.pod(ready=False, scheduled_at=None, unschedulable="no GPU"),), 5, "Unschedulable"),
        ((views.pod(ready=False, scheduled_at=None),), 500, None),
        ((), 5, None),
        ((), 500, "NoPod"),
        ((views.pod(),), 500, None),
    ],
    ids=["the scheduler finds no node", "the scheduler has not looked yet", "the controller needs a moment", "nothing makes a pod", "a pod runs"],
)
def test_what_keeps_a_canary_from_starting(pods: tuple[observed.Pod, ...], phase_since: float, expected: str | None) -> None:
    found = loading.blocked(views.lane({"phase_since": views.ago(phase_since)}, pods=pods))
    assert expected == (found.reason if found else None)
