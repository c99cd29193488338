"""What every model shares: durations, closed objects, texts that fit."""

import pydantic
import pytest

from fairlane.api import base, spec, status


@pytest.mark.parametrize(("written", "seconds"), [
    pytest.param("30s", 30.0, id="seconds"),
    pytest.param("200ms", 0.2, id="milliseconds are no minutes"),
    pytest.param("1h30m", 5400.0, id="parts are added"),
    pytest.param("0s", 0.0, id="nothing"),
])
def test_a_duration_in_seconds(written: str, seconds: float) -> None:
    assert base.seconds(written) == pytest.approx(seconds)


@pytest.mark.parametrize("written", ["", "30", "30 s", "1.5s", "-1s", "s", "1d", "30s\n"])
def test_what_is_no_duration_is_named(written: str) -> None:
    with pytest.raises(ValueError, match=r"is no duration; write it as 30s, 10m or 1h30m") as error:
        base.seconds(written)
    assert repr(written) in str(error.value)


def test_an_unknown_field_of_the_spec_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError, match="replica\n"):
        spec.Lane.model_validate({"name": "chat", "profile": "Interactive", "replicas": 1, "replica": 2})


def test_an_unknown_field_of_the_status_is_dropped() -> None:
    assert status.RouterStatus.model_validate({"replicas": 2, "later": True}) == status.RouterStatus(replicas=2)


def test_a_status_is_written_in_camel_case_without_what_is_unset() -> None:
    written = status.TrackEvidence(revision="a-1", ttft_p50_ms=12, e2e_p99_ms=900).dump()
    counts = dict.fromkeys(("requests", "errors", "hiddenErrors", "aborts", "replicas", "preemptions"), 0)
    assert written == {"revision": "a-1", **counts, "ttftP99Range": "", "e2eP99Range": "", "ttftP50Ms": 12, "e2eP99Ms": 900}


@pytest.mark.parametrize(("length", "kept", "end"), [
    pytest.param(4096, 4096, "x", id="what fits is kept"),
    pytest.param(5000, 4096, "…", id="what is too long is cut, for the API server would refuse the whole status"),
])
def test_a_message_of_the_status(length: int, kept: int, end: str) -> None:
    message = status.Condition(type="Ready", status="True", reason="R", message="x" * length, last_transition_time="2026-01-01T00:00:00Z").message
    assert (len(message), message[-1]) == (kept, end)


def test_the_ca_of_prometheus_is_another_key_than_its_token() -> None:
    prometheus = spec.Prometheus.model_validate({"tokenSecretRef": {"name": "prometheus"}, "caSecretRef": {"name": "prometheus"}})
    assert prometheus.token_secret_ref is not None
    assert prometheus.ca_secret_ref is not None
    assert (prometheus.token_secret_ref.key, prometheus.ca_secret_ref.key) == ("token", "ca.crt")
