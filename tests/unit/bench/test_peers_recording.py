"""A trial's series, made small and read again."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.peers import recording

STABLE = {"__name__": "vllm:time_to_first_token_seconds_bucket", "pod": "stable", "namespace": "ns"}


def matrix(*series: tuple[dict[str, str], list[tuple[float, str]]]) -> list[dict[str, Any]]:
    """The result of a range-vector query."""
    return [{"metric": metric, "values": [[at, value] for at, value in values]} for metric, values in series]


def bucket(le: str, *values: int, first: float = 1000.0) -> tuple[dict[str, str], list[tuple[float, str]]]:
    return {**STABLE, "le": le}, [(first + 2 * number, str(value)) for number, value in enumerate(values)]


HISTOGRAM = matrix(bucket("0.5", 3, 3, 4), bucket("1.0", 3, 4, 5), bucket("+Inf", 5, 7, 8))
COUNTER = matrix(({"__name__": "up", "pod": "router"}, [(1000.123, "0.25"), (1002.0, "0.25"), (1004.0, "1")]))


def ordered(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "series": sorted(document["series"], key=lambda series: sorted(series["metric"].items()))}


def test_only_changes_are_kept() -> None:
    assert recording.thin(COUNTER) == {
        "scrapes": {"router": [1000.123, 1002.0, 1004.0]}, "series": [{"metric": {"__name__": "up", "pod": "router"}, "changes": [[0, 0.25], [2, 1.0]]}],
    }


def test_a_series_born_later_has_the_index_of_its_pods_scrape() -> None:
    born = recording.thin([*HISTOGRAM, *matrix(({"__name__": "late", "pod": "stable"}, [(1004.0, "1")]))])
    assert born["series"][-1]["changes"] == [[2, 1.0]]


@pytest.mark.parametrize("answer", [
    pytest.param(HISTOGRAM, id="a histogram"),
    pytest.param(COUNTER, id="a gauge"),
    pytest.param([*HISTOGRAM, *COUNTER], id="both"),
    pytest.param(matrix(bucket("0.5", 0, 0), bucket("+Inf", 0, 0)), id="a histogram of nothing"),
    pytest.param(matrix(bucket("0.5", 9, 1), bucket("+Inf", 9, 2)), id="a pod that started again"),
    pytest.param([], id="nothing"),
])
def test_what_is_written_is_read_again(answer: list[dict[str, Any]], tmp_path: Path) -> None:
    document = {"what": "“ä”", "ended": 1010.5, **recording.thin(answer)}
    recording.write(tmp_path / "one.json", document)
    assert ordered(recording.read(tmp_path / "one.json")) == ordered(document)


def test_a_request_moves_one_number_of_a_histogram() -> None:
    (family,) = recording.pack(recording.thin(HISTOGRAM))["families"]
    assert family == {"metric": STABLE, "le": ["0.5", "1.0", "+Inf"], "changes": [[0, [[0, 3], [2, 2]]], [1, [[1, 1], [2, 1]]], [2, [[0, 1]]]]}


def test_buckets_of_one_histogram_begin_together() -> None:
    with pytest.raises(ValueError, match="do not begin at the same scrape"):
        recording.pack(recording.thin(matrix(bucket("0.5", 1, 1), bucket("+Inf", 1, first=1002.0))))
