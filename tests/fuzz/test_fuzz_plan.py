"""The storms of tests/unit/plan, hundreds of them."""

import hypothesis
from tests.unit.plan import storms


@hypothesis.settings(max_examples=100, deadline=None, database=None)
@hypothesis.given(**storms.ROLLOUTS)
def test_every_rollout_ends_through_any_storm(
    quality: str, replicas: int, spare: int, lag: float, cuts: list[int | None], troubles: list[tuple[int, str]]
) -> None:
    storms.ends_as_it_would_have(quality, replicas, spare, lag, cuts, troubles)


@hypothesis.settings(max_examples=50, deadline=None, database=None)
@hypothesis.given(**storms.CHANGES)
def test_the_last_change_serves_through_any_storm(changes: list[tuple[int, int | None]], cuts: list[int | None]) -> None:
    storms.serves_the_last_change(changes, cuts)


@hypothesis.settings(max_examples=50, deadline=None, database=None)
@hypothesis.given(**storms.PAIRS)
def test_two_lanes_end_alone_through_any_storm(qualities: tuple[str, str], cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    storms.two_lanes_end_alone(qualities, cuts, troubles)


@hypothesis.settings(max_examples=50, deadline=None, database=None)
@hypothesis.given(**storms.TRIALS)
def test_a_trial_of_the_unchanged_revision_changes_nothing_through_any_storm(quality: str, cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    storms.tries_and_changes_nothing(quality, cuts, troubles)


@hypothesis.settings(max_examples=50, deadline=None, database=None)
@hypothesis.given(**storms.BASELINES)
def test_no_rollout_leaves_its_baseline_behind_in_any_storm(
    quality: str, replicas: int, spare: int, lag: float, cuts: list[int | None], troubles: list[tuple[int, str]], twin: str
) -> None:
    storms.ends_as_it_would_have(quality, replicas, spare, lag, cuts, troubles, twin)
