"""The judge on simulated traffic, in short: few rollouts of every kind. `make bench-judge` runs the whole, whose results are kept and checked here too."""

import collections
import pathlib

import pytest
from bench.judge import cases, checks, kept, latencies, parity, product, published, running, summary, tables, traffic, trials

from fairlane.api import spec as specs
from fairlane.core.judge import histograms
from fairlane.core.rollout import expectation

SIZES = cases.Sizes(healthy=120, clustered=60, pods=0, harmed=40, noisy=0, late=0)
COMPARED = 2, 40        # rollouts of every kind, ticks


@pytest.fixture(scope="module")
def kept_results() -> summary.Results:
    return summary.read()


def test_the_short_form_keeps_every_promise(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> None:
    # one test, so that it is simulated once, however the tests are spread over processes; it takes a minute and shows its progress
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        simulated = running.simulated(SIZES, COMPARED, tmp_path)
    healthy = simulated.healthy()
    alarms, rollouts = sum(cell.methods[trials.ROLLOUT].by_hour for cell in healthy), sum(cell.rows for cell in healthy)
    assert {
        "over the budget": checks.over_budget(simulated),
        "over the budget, of all noises together": alarms > trials.RATE * rollouts,
        "unlike the published figures": checks.unlike_published(simulated),
        "sooner, though quiet": [tables.sooner(cell, peer) for cell, peer in checks.sooner(simulated)],
        "verdicts unlike the product's": simulated.parity.mismatches,
    } == {
        "over the budget": [],
        "over the budget, of all noises together": False,
        "unlike the published figures": [],
        "sooner, though quiet": [],
        "verdicts unlike the product's": 0,
    }
    assert simulated.parity.runs == 2 * len(parity.kinds())
    assert simulated.parity.verdicts > 20 * simulated.parity.runs


def test_every_verdict_occurs_where_they_are_compared() -> None:
    seen = collections.Counter[str]()
    for setting in (traffic.Setting(200), traffic.Setting(200, harm=cases.HARMS[6]), traffic.Setting(20, harm=parity.STARVED)):
        stream = traffic.Traffic(setting, 1, 3)
        ticks = [stream.tick() for _ in range(90)]
        seen.update(outcome.value for outcome in product.outcomes(setting, ticks, 0, specs.Rollout()))
        assert parity.compare(setting, 1, 90).mismatches == ()
    assert set(seen) == {"Pass", "Fail", "Insufficient", "Unavailable"}


def test_a_difference_from_the_product_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity.rule, "WEIGHTS", parity.rule.WEIGHTS * 0)
    setting = traffic.Setting(200, harm=cases.HARMS[6])
    assert [(found.arrays, found.product) for found in parity.compare(setting, 1, 3).mismatches] == [("Insufficient", "Fail")]


def test_the_judge_picks_the_tail_edges_that_are_simulated() -> None:
    picked = {metric: histograms.tail_edges(shape.reference()) for metric, shape in latencies.SHAPES.items()}
    assert picked == {metric: shape.tail for metric, shape in latencies.SHAPES.items()}


def test_the_kept_results_are_of_many_rollouts(kept_results: summary.Results) -> None:
    settings = {(cell.noise, cell.rate) for cell in kept_results.healthy() if cell.rows >= 10_000}
    assert settings >= {(noise.value, rate) for noise in cases.NOISES for rate in cases.RATES}


def test_the_kept_results_keep_every_promise(kept_results: summary.Results) -> None:
    assert [*checks.over_budget(kept_results), *checks.unlike_published(kept_results), *checks.sooner(kept_results)] == []
    assert kept_results.parity.runs >= 200 * len(parity.kinds())
    assert kept_results.parity.mismatches == 0


@pytest.mark.parametrize(("words", "harm"), [
    ("half of the requests fail", "errors 0.1 → 50 %"),
    ("1 in 5 is slow", "slow 1 → 20 %"),
    ("5 % fail", "errors 0.1 → 5 %"),
    ("1 in 20 is slow", "slow 1 → 5 %"),
    ("the p99 is five times as long", "p99 x 5"),
    ("1 % fail", "errors 0.1 → 1 %"),
])
def test_what_a_step_is_expected_to_show_is_what_is_simulated(kept_results: summary.Results, words: str, harm: str) -> None:
    (expected,) = [each for each in expectation.HARMS if each.words == words]
    seen = {cell.rate: cell.methods[trials.FAIRLANE].served for cell in kept_results.harmed() if (cell.harm, cell.noise, cell.onset) == (harm, "Iid", 0)}
    requests = [served for rate in (2.0, 20.0) if (served := seen[rate]) is not None and (rate == 2.0 or harm != "errors 0.1 → 50 %")]
    assert (expected.least, expected.most) == pytest.approx((min(requests), max(requests)), rel=0.25)


def test_the_document_has_the_tables_of_the_kept_results(kept_results: summary.Results) -> None:
    text = tables.DOCUMENT.read_text(encoding="utf-8")
    assert tables.filled(text, kept_results) == text


def cell(harm: str, alarms: int, seconds: float | None, peer_alarms: int = 0, peer_seconds: float | None = None, rows: int = 100) -> summary.Cell:
    ours, theirs = summary.Found(alarms, alarms, seconds, None), summary.Found(peer_alarms, peer_alarms, peer_seconds, None)
    return summary.Cell(harm, "Iid", 20.0, 1, 0, rows, {trials.FAIRLANE: ours, **dict.fromkeys(checks.peers.NAMES, theirs)})


def results(*cells: summary.Cell) -> summary.Results:
    return summary.Results(1, cells, summary.Parity(0, 0, 0))


@pytest.mark.parametrize(("alarms", "rows", "found"), [
    pytest.param(5, 100, 0, id="five of a hundred are chance at a budget of one in a hundred"),
    pytest.param(6, 100, 1, id="six are not"),
    pytest.param(20, 2000, 0, id="of many, the budget itself"),
    pytest.param(21, 2000, 1, id="and no more"),
])
def test_rollbacks_of_healthy_canaries_over_the_budget_are_found(alarms: int, rows: int, found: int) -> None:
    assert len(checks.over_budget(results(cell("none", alarms, None, rows=rows)))) == found


@pytest.mark.parametrize(("harm", "seconds", "found"), [
    pytest.param("slow 1 → 5 %", 390.0, 0, id="as published"),
    pytest.param("slow 1 → 5 %", 600.0, 1, id="later"),
    pytest.param("slow 1 → 5 %", 200.0, 1, id="sooner"),
    pytest.param("slow 1 → 5 %", None, 1, id="never"),
    pytest.param("hang, nothing completes", 600.0, 0, id="nothing is published"),
])
def test_times_unlike_the_published_are_found(harm: str, seconds: float | None, found: int) -> None:
    assert len(checks.unlike_published(results(cell(harm, 100, seconds)))) == found


@pytest.mark.parametrize(("alarms", "ours", "theirs", "found"), [
    pytest.param(4, 300.0, 200.0, len(checks.peers.NAMES), id="a quiet peer that is sooner"),
    pytest.param(4, None, 200.0, len(checks.peers.NAMES), id="a quiet peer that sees what is not seen"),
    pytest.param(5, 300.0, 200.0, 0, id="a peer that rolls back one healthy canary in twenty"),
    pytest.param(4, 200.0, 200.0, 0, id="a peer that is as soon"),
    pytest.param(4, 200.0, None, 0, id="a peer that sees nothing"),
])
def test_quiet_peers_that_are_sooner_are_found(alarms: int, ours: float | None, theirs: float | None, found: int) -> None:
    both = results(cell("none", 0, None, peer_alarms=alarms), cell("slow 1 → 5 %", 100, ours, peer_seconds=theirs))
    assert len(list(checks.sooner(both))) == found


def test_published_medians_have_an_error() -> None:
    assert (round(published.Median(100).low(120), 1), round(published.Median(100).high(120), 1)) == (62.3, 137.7)


def test_a_part_that_was_run_is_not_run_again(tmp_path: pathlib.Path) -> None:
    runs: list[str] = []

    def part(name: str) -> int:
        runs.append(name)
        return len(runs)

    assert [kept.call(tmp_path, part, name) for name in ("a", "b", "a")] == [1, 2, 1]
    assert runs == ["a", "b"]


def test_a_document_without_a_marker_is_refused(kept_results: summary.Results) -> None:
    with pytest.raises(ValueError, match=r"<!-- bench-judge: false alarms --> 0 times, not once"):
        tables.filled("no markers", kept_results)
