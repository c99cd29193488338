"""Flags that came, went, were renamed or are about to go: what each version just before and after says."""

import json
import re
from importlib import resources
from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.core import errors
from fairlane.core.engine import catalog, effective, remedies, versions

# Flag, a value, the last version that has it, the first that does not, and what the refusal says to do.
REMOVED: list[tuple[str, Any, str, str, str]] = [
    ("use-v2-block-manager", True, "0.9.2", "0.10.0", "leave it out: it is the only one"),
    ("device", "cuda", "0.9.2", "0.10.0", "leave it out: vLLM takes the device that its image is built for"),
    ("num-scheduler-steps", 8, "0.10.0", "0.10.1", "leave it out: it was part of the V0 engine's multi-step scheduling"),
    ("multi-step-stream-outputs", False, "0.10.0", "0.10.1", "leave it out: it was part of the V0 engine's multi-step scheduling"),
    ("preemption-mode", "swap", "0.10.2", "0.11.0", "leave it out: it was the V0 engine's; V1 always computes again"),
    ("scheduler-delay-factor", 0.5, "0.10.2", "0.11.0", "leave it out: it was the V0 engine's"),
    ("disable-async-output-proc", True, "0.10.2", "0.11.0", "leave it out: it was the V0 engine's"),
    ("max-seq-len-to-capture", 8192, "0.10.2", "0.11.0", "use max-cudagraph-capture-size"),
    ("rope-scaling", {"factor": 2.0}, "0.11.0", "0.11.1", "use hf-overrides"),
    ("rope-theta", 10000, "0.11.0", "0.11.1", "use hf-overrides"),
    ("num-lookahead-slots", 1, "0.11.2", "0.12.0", "leave it out: it follows from speculative-config"),
    ("guided-decoding-backend", "xgrammar", "0.11.2", "0.12.0", "it is structured-outputs-config.backend now"),
    ("guided-decoding-disable-fallback", "True", "0.11.2", "0.12.0", "use structured-outputs-config"),
    ("guided-decoding-disable-any-whitespace", "True", "0.11.2", "0.12.0", "it is structured-outputs-config.disable_any_whitespace now"),
    ("guided-decoding-disable-additional-properties", "True", "0.11.2", "0.12.0", "it is structured-outputs-config.disable_additional_properties now"),
    ("task", "generate", "0.12.0", "0.13.0", "use runner and convert"),
    ("cuda-graph-sizes", [1, 2], "0.12.0", "0.13.0", "it is cudagraph-capture-sizes now"),
    ("disable-mm-preprocessor-cache", True, "0.12.0", "0.13.0", "use mm-processor-cache-gb 0"),
    ("swap-space", 4, "0.17.1", "0.18.0", "use kv-offloading-size"),
    ("disable-log-requests", True, "0.16.0", "0.17.0", "use enable-log-requests false, its default"),
    ("disable-frontend-multiprocessing", True, "0.18.1", "0.19.0", "leave it out: the API server and the engine are always processes of their own"),
    ("calculate-kv-scales", True, "0.27.1", "0.28.0", "leave it out: the scales come from the checkpoint, or are 1.0"),
    ("max-num-partial-prefills", 2, "0.26.0", "0.27.0", "use long-prefill-token-threshold"),
    ("max-long-partial-prefills", 2, "0.26.0", "0.27.0", "use long-prefill-token-threshold"),
]
CAME: list[tuple[str, Any, str, str]] = [
    ("stream-interval", 4, "0.11.0", "0.11.1"),
    ("shutdown-timeout", 60, "0.17.1", "0.18.0"),
    ("max-num-queued-reqs", 8, "0.28.0", "0.29.0"),
    ("max-num-scheduled-tokens", 1024, "0.25.1", "0.26.0"),
    ("max-num-active-seqs", 8, "0.30.0", "0.31.0"),
    ("reasoning-effort-map", {}, "0.32.0", "0.33.0"),
]
DEPRECATED: list[tuple[str, str, str, str]] = [
    ("log-config-file", "0.30.0", "0.31.0", "use logging-config.pylogging_config_file"),
    ("disable-cascade-attn", "0.31.0", "0.32.0", "leave it out: cascade attention was removed and the flag has no effect"),
    ("mamba-cache-mode", "0.32.0", "0.33.0", "leave it out: it follows enable-prefix-caching"),
    ("ir-op-priority", "0.32.0", "0.33.0", "leave it out: the part of vLLM that it orders is being removed"),
    ("calculate-kv-scales", "0.18.1", "0.19.0", "leave it out: the scales come from the checkpoint"),
    ("disable-log-requests", "0.10.0", "0.10.1", "use enable-log-requests false"),
    ("cuda-graph-sizes", "0.11.0", "0.11.1", "use cudagraph-capture-sizes"),
    ("max-num-seqs", "0.8.0", "0.33.0", ""),
]


def version(text: str) -> versions.Version:
    parsed = versions.parse(text)
    assert parsed is not None
    return parsed


def settings(flag: str, value: Any, text: str) -> effective.Settings:
    return make.settings(make.service(lane={"flags": {flag: value}}, engine={"version": text}))


def refused(flag: str, value: Any, text: str) -> str:
    with pytest.raises(errors.Refused) as found:
        settings(flag, value, text)
    assert f"spec.lanes[chat].flags.{flag}" == found.value.field
    return found.value.message


@pytest.mark.parametrize(("flag", "value", "last", "gone", "remedy"), [pytest.param(*row, id=row[0]) for row in REMOVED])
def test_a_removed_flag_is_taken_until_then_and_refused_with_its_replacement(flag: str, value: Any, last: str, gone: str, remedy: str) -> None:
    assert settings(flag, value, last)[flag].origin is effective.Origin.LANE
    for text in (gone, "0.33.0"):
        message = refused(flag, value, text)
        assert f"vLLM {text} has no flag {flag}; " in message
        assert f"by {gone}" in message
        assert remedy in message


@pytest.mark.parametrize(("flag", "value", "last", "since"), [pytest.param(*row, id=row[0]) for row in CAME])
def test_a_flag_that_is_not_there_yet_is_refused_with_the_version_that_has_it(flag: str, value: Any, last: str, since: str) -> None:
    assert f"vLLM {last} has no flag {flag}; it came with {since}; leave it out or run that version" == refused(flag, value, last)
    assert catalog.find(flag, version(since)) is not None


@pytest.mark.parametrize(("flag", "before", "since", "remedy"), [pytest.param(*row, id=row[0]) for row in DEPRECATED])
def test_a_deprecated_flag_says_since_when_and_what_instead(flag: str, before: str, since: str, remedy: str) -> None:
    assert remedies.of_deprecated(catalog.flags()[flag], version(before)) == ""
    said = remedies.of_deprecated(catalog.flags()[flag], version(since))
    assert said.startswith(f"is deprecated since {since}; {remedy}") if remedy else said == ""


@pytest.mark.parametrize(("flag", "value", "text", "words"), [
    pytest.param("enable-chunked-prefill", False, "0.8.4", ["--enable-chunked-prefill=False"], id="a boolean that was written as a word"),
    pytest.param("enable-chunked-prefill", False, "0.8.5", ["--no-enable-chunked-prefill"], id="and has a no-form since"),
    pytest.param("enable-lora", False, "0.8.4", [], id="a switch that could only be on"),
    pytest.param("async-scheduling", False, "0.13.0", [], id="off by default: left out"),
    pytest.param("async-scheduling", False, "0.14.0", ["--no-async-scheduling"], id="on by default since"),
    pytest.param("ignore-patterns", ["a", "b"], "0.8.5", ["--ignore-patterns=a", "--ignore-patterns=b"], id="once per value"),
    pytest.param("ignore-patterns", ["a", "b"], "0.9.0", ["--ignore-patterns", "a", "b"], id="several values since"),
])
def test_a_flag_is_written_as_its_version_reads_it(flag: str, value: Any, text: str, words: list[str]) -> None:
    assert words == settings(flag, value, text)[flag].words


@pytest.mark.parametrize(("text", "quiet", "drains"), [("0.8.1", False, False), ("0.8.2", True, False), ("0.17.1", True, False), ("0.18.0", True, True)])
def test_what_fairlane_sets_is_left_out_where_the_version_lacks_it(text: str, quiet: bool, drains: bool) -> None:
    words = make.container(make.rendered(make.service(engine={"version": text})))["command"]
    assert (quiet, drains) == ("--disable-uvicorn-access-log" in words, "--shutdown-timeout" in words)


def test_every_flag_that_is_gone_or_goes_says_what_to_do() -> None:
    leaving = [flag for flag in catalog.flags().values() if (flag.gone or flag.deprecated) and not flag.owned]
    assert [flag.name for flag in leaving if sum(map(bool, (flag.renamed, flag.instead, flag.why))) != 1] == []


def test_every_replacement_is_a_flag_of_the_versions_that_need_it() -> None:
    replaced = {flag.name: re.split(r"[. ,]", flag.renamed or flag.instead)[0] for flag in catalog.flags().values() if flag.renamed or flag.instead}
    known = [version(text) for text in json.loads(resources.files(catalog.__package__).joinpath("data/flags.json").read_text())["read"]]
    gaps = {
        (name, str(at)) for name, other in replaced.items() for at in known
        if (since := catalog.flags()[name].gone or catalog.flags()[name].deprecated) is not None and at >= since and catalog.find(other, at) is None
    }
    assert {("max-seq-len-to-capture", "0.11.0")} == gaps
    assert "use max-cudagraph-capture-size, which came with 0.11.1" in refused("max-seq-len-to-capture", 8192, "0.11.0")


def test_the_last_version_that_was_read_is_the_last_that_is_supported() -> None:
    data = json.loads(resources.files(catalog.__package__).joinpath("data/flags.json").read_text())
    assert (str(versions.FIRST)[:3], ".".join(map(str, versions.LAST_MINOR))) == (data["first"], data["last"])
