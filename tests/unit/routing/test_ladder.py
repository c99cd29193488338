"""What the script in Envoy is told."""

import pytest

from fairlane.core.routing import document, ladder


def route(default: str, **limits: int | None) -> document.RouteDocument:
    lanes = tuple(document.LaneRoute(name=name, max_prompt_tokens=limit) for name, limit in limits.items())
    return document.RouteDocument(namespace="n", service="s", model="m", default_lane=default, lanes=lanes)


LONGEST: dict[str, tuple[document.RouteDocument, str]] = {
    "the default lane where it has no limit": (route("docs", chat=2_048, docs=None, batch=None), "docs"),
    "the highest limit, not a lane meant for named callers": (route("docs", chat=2_048, docs=32_768, batch=None), "docs"),
    "the highest limit, though it is not the default": (route("chat", chat=2_048, docs=32_768), "docs"),
    "a lane without limit where no other takes 64 KiB": (route("chat", chat=2_048, batch=None), "batch"),
    "the highest limit where none takes 64 KiB": (route("chat", chat=2_048, docs=4_096), "docs"),
    "the default among equals": (route("b", a=32_768, b=32_768, c=32_768), "b"),
    "the only lane": (route("chat", chat=100), "chat"),
}


@pytest.mark.parametrize(("given", "expected"), LONGEST.values(), ids=LONGEST.keys())
def test_the_longest_lane(given: document.RouteDocument, expected: str) -> None:
    assert ladder.longest(given) == expected


def test_lanes_are_tried_by_size_and_callers_lead_to_lanes() -> None:
    lanes = (
        document.LaneRoute(name="docs", max_prompt_tokens=32_768, callers=("legal",), allow_named=False),
        document.LaneRoute(name="chat", max_prompt_tokens=2_048, callers=("web", "mobile"), max_output_tokens=9),
    )
    given = document.RouteDocument(namespace="n", service="s", model="m", default_lane="docs", caller_header="X-Who", lanes=lanes)
    table = ladder.context(given, {})["table"]
    assert table["sizes"] == ["chat", "docs"]
    assert table["callers"] == {"legal": "docs", "web": "chat", "mobile": "chat"}
    assert table["lanes"] == {"docs": {"named": False, "max_prompt": 32_768}, "chat": {"named": True, "max_prompt": 2_048, "max_output": 9}}
    assert table["caller_header"] == "x-who"


def test_the_version_changes_with_the_table_and_only_with_it() -> None:
    first, same, other = route("a", a=1), route("a", a=1), route("a", a=2)
    versions = [ladder.context(one, {})["version"] for one in (first, same.model_copy(update={"router_replicas": 9}), other)]
    assert versions[0] == versions[1]
    assert versions[0] != versions[2]


SPLITS: dict[str, tuple[dict[str, int], dict[str, str]]] = {
    "both tracks take requests": ({"stable": 90, "canary": 10}, {"k": "chat"}),
    "a baseline too": ({"stable": 80, "canary": 10, "baseline": 10}, {"k": "chat"}),
    "the canary takes none": ({"stable": 100}, {}),
    "the canary takes none and its baseline some": ({"stable": 90, "baseline": 10}, {}),
    "the canary takes all": ({"canary": 100}, {}),
    "nothing serves": ({}, {}),
}


@pytest.mark.parametrize(("split", "expected"), SPLITS.values(), ids=SPLITS.keys())
def test_a_key_holds_while_both_tracks_take_requests(split: dict[str, int], expected: dict[str, str]) -> None:
    lanes = (document.LaneRoute(name="chat", synthetic_key="k"), document.LaneRoute(name="docs"))
    given = document.RouteDocument(namespace="n", service="s", model="m", default_lane="docs", lanes=lanes)
    assert ladder.context(given, {"chat": split, "docs": {"stable": 100}})["table"]["synthetic"] == expected
