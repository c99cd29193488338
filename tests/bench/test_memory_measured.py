"""What real vLLM had of KV cache, by `make bench-memory`, beside what is computed now."""

import json
from typing import Any

import pytest
from bench.memory import __main__ as bench

from fairlane.core.engine.memory import compare

KEPT: dict[str, Any] = json.loads(bench.RESULTS.read_text())
each = pytest.mark.parametrize("row", [pytest.param(row, id=f"kv-cache-memory-bytes {row['flags']['kv-cache-memory-bytes']}") for row in KEPT["rows"]])


def test_three_sizes_were_measured() -> None:
    assert [row["flags"]["kv-cache-memory-bytes"] for row in KEPT["rows"]] == list(bench.SIZES)


@each
def test_the_tokens_are_within_two_percent(row: dict[str, Any]) -> None:
    computed = bench.preflighted(row["flags"], KEPT["config"]).kv_tokens
    assert computed == pytest.approx(row["measured"], rel=0.02)


@each
def test_the_operator_sees_the_same_difference(row: dict[str, Any]) -> None:
    found = bench.preflighted(row["flags"], KEPT["config"])
    assert found.pool is not None
    assert found.kv_tokens is not None
    difference = compare.compare(found.pool, row["labels"])
    assert isinstance(difference, compare.Difference)
    assert (difference.measured_tokens, difference.kv_tokens) == (row["measured"], row["measured"] - found.kv_tokens)
