"""What the canary's pods say."""

import datetime

import pytest
from tests.unit.rollout import views

from fairlane.core import observed
from fairlane.core.rollout import loading


def _crashed(words: str = "", reason: str = "Error", restarts: int = 0) -> observed.Container:
    return observed.Container(restarts=restarts, terminated_reason=reason, terminated_message=words, exit_code=1)


def _waits(reason: str) -> observed.Container:
    return observed.Container(waiting_reason=reason, waiting_message="the registry said no")


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (views.pod(), None),
        (views.pod(ready=False), None),
        (views.pod(container=_crashed()), "CanaryCrashed"),
        (views.pod(container=observed.Container(restarts=1)), "CanaryCrashed"),
        (views.pod(container=_waits("CrashLoopBackOff")), "CanaryCrashed"),
        (views.pod(container=_crashed(reason="OOMKilled")), "OutOfMemory"),
        (views.pod(container=_crashed("x\nValueError: No available memory for the cache blocks.\n")), "OutOfMemory"),
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


_PYDANTIC = """pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
  Value error, User-specified max_model_len (100000) is greater than the derived max_model_len (8192). [type=value_error]
    For further information visit https://errors.pydantic.dev/2.14/v/value_error
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("line one\nRuntimeError: the end\n\n", "RuntimeError: the end", id="an error ends them"),
        pytest.param("ValueError: too long\n[rank0]: shutting down\n", "ValueError: too long", id="the error comes before the farewell"),
        pytest.param(
            _PYDANTIC, "Value error, User-specified max_model_len (100000) is greater than the derived max_model_len (8192). [type=value_error]",
            id="pydantic ends with a link",
        ),
        pytest.param("one\nKilled\n", "Killed", id="no line names an error"),
    ],
)
def test_the_message_has_the_last_words(words: str, expected: str) -> None:
    found = loading.failure(views.lane(pods=(views.pod(container=_crashed(words)),)), views.CANARY)
    assert found is not None
    assert found.message.endswith(f"ended by itself (Error, exit code 1, 0 restarts): {expected}")


@pytest.mark.parametrize(
    ("since", "expected"), [(None, False), (1000, False), (1800, True), (5000, True)], ids=["not scheduled", "in time", "just over", "long over"],
)
def test_the_load_deadline(since: float | None, expected: bool) -> None:
    seen = views.lane({"loading_since": views.ago(since) if since is not None else None})
    assert expected == (loading.overdue(seen, seen.status) is not None)


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
