"""An operator killed anywhere converges to the same end. tests/fuzz runs the same storms far more often."""

import hypothesis
import pytest
from tests.unit.plan import storms

from fairlane.api import status as statuses

PHASE = statuses.Phase


@hypothesis.settings(max_examples=6, deadline=None, derandomize=True, database=None)
@hypothesis.given(**storms.ROLLOUTS)
def test_every_rollout_ends_as_it_would_have(
    quality: str, replicas: int, spare: int, lag: float, cuts: list[int | None], troubles: list[tuple[int, str]]
) -> None:
    storms.ends_as_it_would_have(quality, replicas, spare, lag, cuts, troubles)


@hypothesis.settings(max_examples=4, deadline=None, derandomize=True, database=None)
@hypothesis.given(**storms.CHANGES)
def test_the_last_of_many_changes_is_what_serves(changes: list[tuple[int, int | None]], cuts: list[int | None]) -> None:
    storms.serves_the_last_change(changes, cuts)


@hypothesis.settings(max_examples=3, deadline=None, derandomize=True, database=None)
@hypothesis.given(**storms.PAIRS)
def test_two_lanes_end_alone(qualities: tuple[str, str], cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    storms.two_lanes_end_alone(qualities, cuts, troubles)


@hypothesis.settings(max_examples=6, deadline=None, derandomize=True, database=None)
@hypothesis.given(**storms.TRIALS)
def test_a_trial_of_the_unchanged_revision_changes_nothing(quality: str, cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    storms.tries_and_changes_nothing(quality, cuts, troubles)


@hypothesis.settings(max_examples=6, deadline=None, derandomize=True, database=None)
@hypothesis.given(**storms.BASELINES)
def test_no_rollout_leaves_its_baseline_behind(
    quality: str, replicas: int, spare: int, lag: float, cuts: list[int | None], troubles: list[tuple[int, str]], twin: str
) -> None:
    storms.ends_as_it_would_have(quality, replicas, spare, lag, cuts, troubles, twin)


@pytest.mark.parametrize("quality", ["good", "slow"])
def test_a_pass_repeated_without_its_status_writes_the_same(quality: str) -> None:
    made, _ = storms.started(2, 1, 2.0, quality)
    for _ in range(60):
        made.cluster.tick(2)
        made.reconcile(cut=1000, keep_status=False)
        before = dict(made.cluster.things)
        made.reconcile()
        assert made.cluster.things == before


@pytest.mark.parametrize("cut", range(9))
@pytest.mark.parametrize("quality", ["good", "slow"])
def test_a_baseline_ends_with_its_rollout_though_every_other_pass_is_cut_off(quality: str, cut: int) -> None:
    made, wanted = storms.started(2, 2, 1.0, quality, "Fresh")
    made.run_cut(60, cut)
    made.settle()
    lane = made.lane("chat")
    assert (lane.stable.partition("-")[0] == wanted, lane.baseline, {pod.revision for pod in made.cluster.pods}) == (quality == "good", "", {lane.stable})


def test_an_evicted_canary_is_nobodys_fault() -> None:
    made, wanted = storms.started(2, 1, 1.0, "good")
    made.until("chat", PHASE.ANALYZING)
    made.cluster.evict(made.lane("chat").canary)
    made.run(2)
    assert made.lane("chat").phase is PHASE.ANALYZING
    assert "no ready replica" in made.lane("chat").message
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-1"
