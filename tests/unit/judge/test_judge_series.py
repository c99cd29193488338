"""The names of vLLM's series: each version has one that is asked for, and each pod is read by its own."""

import itertools
from importlib import resources

import pytest
import yaml

from fairlane.core.engine import versions
from fairlane.core.judge import increments, queries, samples, series

DATA = yaml.safe_load(resources.files(series.__package__).joinpath("data/series.yaml").read_text())
NAMES = {what: rows for part in DATA.values() for what, rows in part.items()}


def version(text: str) -> versions.Version:
    parsed = versions.parse(text)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize("what", sorted(NAMES.keys() - {"tpot"}))
def test_every_version_has_a_name_for_it(what: str) -> None:
    spans = [(version(row.get("since", "0.8.0")), version(row.get("gone", "99.0.0"))) for row in NAMES[what]]
    spans.sort()
    assert spans[0][0] == versions.FIRST
    assert spans[-1][1] > (*versions.LAST_MINOR, 0)
    assert all(later <= gone for (_, gone), (later, _) in itertools.pairwise(spans))


def test_the_newer_name_is_asked_for_first() -> None:
    assert [what for what, rows in NAMES.items() if any("gone" in row for row in rows[:-1])] == []


@pytest.mark.parametrize(("names", "expected"), [
    pytest.param(["inter_token_latency"], 10, id="a version with the new name"),
    pytest.param(["time_per_output_token"], 10, id="a version with the old name"),
    pytest.param(["time_per_output_token", "inter_token_latency"], 10, id="a version that writes both is counted once"),
])
def test_a_pod_is_read_by_its_own_names(names: list[str], expected: float) -> None:
    read = [
        samples.Sample({"__name__": f"vllm:{name}_seconds_bucket", "pod": "a", "le": edge}, count)
        for name in names for edge, count in (("0.1", 4.0), ("+Inf", 10.0))
    ]
    assert expected == increments.histograms(read, queries.ENGINE_METRICS, 1.0)["itl"].counts[-1]
