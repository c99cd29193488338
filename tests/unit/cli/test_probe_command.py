"""`fairlane probe` as typed."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer import testing

from fairlane.cli import failures, main
from fairlane.cli.probe import config, load, results

RUNNER = testing.CliRunner()


def probe(*args: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    done = RUNNER.invoke(main.app, ["probe", *args])
    return done.exit_code, done.stdout, done.stderr


def made(*ttfts: float, failed: int = 0) -> results.Run:
    tracks = ("stable", "canary")
    good = [results.Sample(0.1, "ok", 200, ttft, ttft + 1, (0.02,), 2, lane="chat", track=tracks[index % 2]) for index, ttft in enumerate(ttfts)]
    bad = [results.Sample(0.2, "5xx", 503, message="upstream down") for _ in range(failed)]
    return results.Run("2026-01-01T00:00:00Z", 10.0, {}, (*good, *bad))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[config.Config]:
    """The configurations that were run; each run has four requests, one of them failed."""
    kept: list[config.Config] = []

    def run(given: config.Config, *callbacks: Any) -> results.Run:
        given.check()
        kept.append(given)
        return made(0.1, 0.2, 0.3, failed=1)

    monkeypatch.setattr(load, "run", run)
    return kept


def test_every_option_reaches_the_run(asked: list[config.Config], tmp_path: Path) -> None:
    code, _, _ = probe(
        "http://x", "-m", "m", "--rate", "2", "--duration", "3", "--max-in-flight", "9", "--timeout", "7", "--prompt-tokens", "5", "--output-tokens", "6",
        "--max-output-tokens", "4", "--no-stream", "--ignore-eos", "-H", "x-caller: web", "-H", "a:b:c", "--api-key", "k", "--retry-429", "--seed", "8",
        "--trace", str(tmp_path / "t"), "--max-prompt-tokens", "11", "--total", "12", "-c", "13",
    )  # fmt: skip
    assert code == 0
    assert asked == [
        config.Config(
            "http://x", model="m", total=12, concurrency=13, rate=2.0, duration=3.0, max_in_flight=9, timeout=7.0, trace=tmp_path / "t", prompt_tokens=5,
            output_tokens=6, max_prompt_tokens=11, max_output_tokens=4, stream=False, ignore_eos=True,
            headers={"Authorization": "Bearer k", "x-caller": "web", "a": "b:c"}, retry_429=True, seed=8,
        )
    ]


@pytest.mark.usefixtures("asked")
def test_the_numbers_are_printed_by_track_with_the_errors() -> None:
    code, out, _ = probe("http://x")
    words = [line.split() for line in out.splitlines()]
    assert (code, out.splitlines()[0]) == (0, "4 requests in 10.0 s (0.4/s, 1 tokens/s), 1 failed")
    assert ["TTFT", "3", "200.0", "ms", "300.0", "ms", "300.0", "ms", "300.0", "ms"] in words
    assert ["Errors:", "1", "5xx"] in words
    assert ["5xx:", "upstream", "down"] in words
    assert ["chat", "canary", "-", "1", "0", "200.0", "ms", "200.0", "ms", "1.20", "s"] in words


@pytest.mark.usefixtures("asked")
def test_a_run_for_machines_is_json_and_may_be_saved(tmp_path: Path) -> None:
    code, out, _ = probe("--save", str(tmp_path / "run.json"), "-o", "json", "http://x")
    assert (code, json.loads(out)["latencies"]["ttft"]["p99"], json.loads(out)["errors"]) == (0, 0.3, {"5xx": 1})
    assert results.load(tmp_path / "run.json") == made(0.1, 0.2, 0.3, failed=1)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(("x",), "error: url 'x': write it as http://host:port\n", id="no address"),
        pytest.param(("http://x", "-H", "caller"), "error: -H 'caller': write it as `name: value`\n", id="no header"),
        pytest.param(("http://x", "--save", "/no/such/run.json"), "error: [Errno 2] No such file or directory: '/no/such/run.json'\n", id="no folder"),
        pytest.param(("http://x", "--rate", "1"), "error: --rate needs --duration: without it the run would have no end\n", id="no end"),
    ],
)
def test_what_cannot_be_is_a_sentence(args: tuple[str, ...], message: str) -> None:
    code, _, err = probe(*args)
    assert (code, err) == (failures.USAGE, message)


def test_a_stopped_run_shows_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(given: config.Config, on_progress: object, on_sample: Callable[[results.Sample], None]) -> results.Run:
        for sample in made(0.1, 0.2).samples:
            on_sample(sample)
        raise KeyboardInterrupt

    monkeypatch.setattr(load, "run", run)
    code, out, err = probe("http://x")
    assert (code, out.split()[:2], err) == (0, ["2", "requests"], "stopped; the numbers are of what was done\n")


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., str]:
    """Save a run, return its path."""

    def save(name: str, *ttfts: float, failed: int = 0) -> str:
        made(*ttfts, failed=failed).save(tmp_path / name)
        return str(tmp_path / name)

    return save


@pytest.mark.parametrize(
    ("after", "failed", "code", "sentence"),
    [
        pytest.param((0.1, 0.1, 0.2), 0, 0, "The TTFT tail narrowed.", id="a shorter tail ends 0"),
        pytest.param((0.1, 0.2, 0.4), 0, 1, "The TTFT tail did not narrow: p99, p95.", id="a longer tail ends 1"),
        pytest.param((0.1, 0.1, 0.2), 1, 1, "The TTFT tail did not narrow: errors.", id="more errors end 1"),
    ],
)
def test_compare_says_whether_the_tail_narrowed(saved: Callable[..., str], after: tuple[float, ...], failed: int, code: int, sentence: str) -> None:
    before, later = saved("a.json", 0.1, 0.2, 0.3), saved("b.json", *after, failed=failed)
    found, out, _ = probe("compare", before, later, "--plot")
    assert (found, out.splitlines()[-1]) == (code, sentence)
    assert json.loads(probe("compare", before, later, "-o", "json")[1])["narrowed"] == (code == 0)


def test_runs_without_streams_are_compared_by_e2e(tmp_path: Path) -> None:
    run = made(0.1, 0.2)
    for name in ("a.json", "b.json"):
        dataclasses.replace(run, samples=tuple(dataclasses.replace(sample, ttft=None) for sample in run.samples)).save(tmp_path / name)
    assert json.loads(probe("compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", "json")[1])["metric"] == "e2e"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(("a.json", "none.json"), "no saved run", id="no file"),
        pytest.param(("a.json", "a.json", "--metric", "p99"), "--metric p99: one of ttft, itl, e2e", id="no metric"),
        pytest.param(("a.json", "failed.json"), "the second run has no E2E: 1 requests, 1 failed", id="no answers"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(saved: Callable[..., str], tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    saved("a.json", 0.1)
    saved("failed.json", failed=1)
    code, _, err = probe("compare", *(str(tmp_path / arg) if arg.endswith(".json") else arg for arg in args))
    assert (code, message in err) == (failures.USAGE, True), err
