"""Both distributions as characters, also of numbers that hardly are any."""

from collections.abc import Sequence

import pytest
from tests.unit.cli import served

from fairlane.api import status as statuses
from fairlane.cli import ecdf


def drawn(edges: Sequence[int], stable: Sequence[int], canary: Sequence[int], edge: float | None = None, metric: str = "ttft") -> list[str]:
    """The lines of a plot of 11 by 3 characters, its title apart."""
    found = statuses.Distribution(metric=metric, edges_ms=list(edges), stable=list(stable), canary=list(canary))
    return ecdf.plot(found, edge, width=11, height=3).splitlines()[1:]


def test_the_worse_side_lies_to_the_right_and_the_edge_is_marked() -> None:
    assert drawn([10, 100, 1000], [0, 10, 10, 10], [0, 0, 10, 10], edge=100) == [
        " 100 % |    ooooo**",
        "  50 % |  oo : xx",
        "   0 % |**xxxxx",
        "       ++------+---",
        "      10 ms  0.2 s",
        "        o stable   x canary   * both   : deciding edge, 0.1 s",
    ]


@pytest.mark.parametrize(
    ("edges", "stable", "canary", "edge", "plot"),
    [
        pytest.param([100], [3, 6], [3, 6], None, ["", "*", ""], id="one edge"),
        pytest.param([100], [3, 6], [0, 6], 100, [":", "o", "x"], id="one edge that decided"),
        pytest.param([0, 100], [0, 3, 6], [0, 3, 6], None, ["", "*", ""], id="an edge under a millisecond has no place on a logarithmic axis"),
        pytest.param([100, 100], [1, 3, 6], [2, 3, 6], None, ["", "*", ""], id="two edges that are one in milliseconds"),
        pytest.param([100], [0, 0], [6, 6], None, ["x", "", ""], id="nothing of the stable"),
        pytest.param([100], [], [6, 6], None, ["x", "", ""], id="no counts of the stable"),
        pytest.param([100], [0, 6], [0, 6], None, ["", "", "*"], id="all beyond the last edge"),
    ],
)
def test_a_single_place_is_drawn_in_the_middle(edges: list[int], stable: list[int], canary: list[int], edge: float | None, plot: list[str]) -> None:
    assert [line[8:].strip() for line in drawn(edges, stable, canary, edge)[:3]] == plot


@pytest.mark.parametrize(
    ("edges", "stable", "canary"),
    [
        pytest.param([], [], [], id="nothing at all"),
        pytest.param([], [5], [5], id="no edges"),
        pytest.param([0], [5, 5], [5, 5], id="no edge above zero"),
        pytest.param([10, 20], [0, 0, 0], [0, 0, 0], id="nothing counted"),
        pytest.param([10, 20], [1, 2], [3], id="counts of other edges"),
    ],
)
def test_without_numbers_there_is_no_plot(edges: list[int], stable: list[int], canary: list[int]) -> None:
    assert drawn(edges, stable, canary) == []


def test_equal_sides_are_one_curve() -> None:
    lines = drawn([10, 100, 1000], [0, 5, 10, 10], [0, 5, 10, 10])
    assert {mark for line in lines[:3] for mark in line[8:]} == {"*", " "}


def test_a_curve_has_no_gap_where_it_is_steep() -> None:
    steep = statuses.Distribution(metric="ttft", edges_ms=[1, 99, 100, 9999], stable=[0, 0, 10, 10, 10], canary=[])
    rows = ecdf.plot(steep, 9999, width=40, height=12).splitlines()[1:13]
    assert all("o" in row for row in rows)


def test_the_plot_shows_where_something_happens_and_the_deciding_edge() -> None:
    curve = ecdf.points(served.EDGES_MS, served.DISTRIBUTION["stable"])
    assert ecdf.span([curve], None) == (10.0, 2500.0)
    assert ecdf.span([curve], 7500) == (10.0, 7500.0)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param((10, 600), [10, 20, 50, 100, 200, 500], id="round values"),
        pytest.param((110, 190), [110, 190], id="the ends where no round value lies between"),
        pytest.param((0.5, 2), [0.5, 1, 2], id="around a millisecond"),
    ],
)
def test_ticks_are_round(limits: tuple[float, float], expected: list[float]) -> None:
    assert ecdf.ticks(limits) == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "things"), [("ttft", "requests with TTFT"), ("itl", "gaps between tokens with ITL"), ("novel", "requests with novel")])
def test_the_title_says_what_is_counted(metric: str, things: str) -> None:
    assert ecdf.subject(metric, "up to") == f"Share of {things} up to x"
