"""The names of vLLM's series over its versions: data/series.yaml."""

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml


@functools.cache
def _data() -> dict[str, dict[str, list[dict[str, Any]]]]:
    data: dict[str, dict[str, list[dict[str, Any]]]] = yaml.safe_load(resources.files(__package__).joinpath("data/series.yaml").read_text())
    return data


def latencies() -> Mapping[str, str]:
    """Return the metric of ours that each histogram measures, by the histogram's name; of two names for one metric the newer is first."""
    return {row["name"]: metric for metric, rows in _data()["latencies"].items() for row in rows}


def explaining(what: str) -> tuple[str, ...]:
    """Return the names of a counter or gauge, the newer first; KeyError where the data has none."""
    return tuple(row["name"] for row in _data()["explaining"][what])
