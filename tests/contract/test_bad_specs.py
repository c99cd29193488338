"""What one object says wrong is refused by a real API server, with the field, the value and the remedy in the message.

What only the effective flags show (a profile or vLLM itself set the other half) is refused by the core: tests/unit.
"""

from typing import Any

import pytest
import yaml
from tests.contract.specs_table import BAD, GOOD_CHANGES, changed


@pytest.mark.parametrize(("change", "words"), [pytest.param(change, words, id=name) for name, change, words in BAD])
def test_is_refused_with_the_field_and_the_remedy(apiserver: Any, change: dict[str, Any], words: list[str]) -> None:
    refused = apiserver.dry_run(yaml.safe_dump(changed(**change)))
    assert refused.returncode != 0, "accepted"
    assert [word for word in words if word not in refused.stderr] == [], refused.stderr


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in GOOD_CHANGES])
def test_is_accepted(apiserver: Any, change: dict[str, Any]) -> None:
    assert apiserver.dry_run(yaml.safe_dump(changed(**change))).stderr == ""
