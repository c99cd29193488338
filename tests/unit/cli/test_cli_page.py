"""The page of `why --html`: whole without other resources, hostile texts harmless, pictures of hardly any numbers."""

import html.parser
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.unit.cli import served

from fairlane.api import status as statuses
from fairlane.cli import page, pictures, why

HOSTILE = "</title></svg></p><script>alert('1')</script><img src=x onerror=\"alert(1)\">"
IDLE = {"phase": "Idle", "canary": "", "evidence": None, "message": "", "expected": ""}
SVG = "{http://www.w3.org/2000/svg}"


class Elements(html.parser.HTMLParser):
    """The elements of a document with their attributes; complains where they are not nested."""

    VOID = ("meta",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open += [] if tag in self.VOID else [tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def rendered(**lane: Any) -> str:
    """The page of a service whose chat differs by these fields."""
    service = served.service()
    service["status"]["lanes"][0] |= lane
    return page.render("assistant", why.answers(service, "chat"))


def evidence(**fields: Any) -> statuses.EvidenceRecord:
    """The rollback's evidence with other fields."""
    return statuses.EvidenceRecord.model_validate(served.EVIDENCE | fields)


def drawings(text: str) -> list[ElementTree.Element]:
    """The pictures, read as XML."""
    return [ElementTree.fromstring(found.replace("<svg ", "<svg xmlns='http://www.w3.org/2000/svg' ")) for found in re.findall(r"<svg .*?</svg>", text, re.S)]


def test_a_failed_load_says_what_failed_and_what_to_do() -> None:
    text = rendered(phase="RollingBack", reason="KVCacheTooSmall", message=served.FAILED, evidence=None, decisions=[])
    assert "<p>What failed: KVCacheTooSmall: one sequence of 29,000 tokens needs 3.54 GiB of KV cache, the GPU has 2.56 GiB left</p>" in text
    assert "<p>What to do: largest maxModelLen that fits: 20,970" in text


def test_a_rollback_has_sentence_numbers_pictures_and_decisions() -> None:
    text = rendered(**IDLE)
    assert f'<p class="sentence">{served.WHY.replace(chr(39), "&#39;")}</p>' in text
    assert "<p>Decided by TTFT over 0.75 s: canary 10 of 21 (48 %), stable 3 of 190 (1.6 %); e-value 1.2e4, needs 200</p>" in text
    assert '<tr><th scope="row">TTFT p50</th><td>90 ms</td><td>688 ms</td><td>x 7.64</td></tr>' in text
    assert "<tr><td>2</td><td>34m20s</td><td>2</td><td>50 %</td><td>Fail</td><td>24</td><td>1.2e4 of 200</td><td>TailWorse</td></tr>" in text
    labels = [drawing.attrib["aria-label"] for drawing in drawings(text)]
    assert labels == [
        "Share of requests with TTFT up to x, stable and canary",
        "Share of requests with TTFT over x, stable and canary",
        "The canary's weight and the decisions",
    ]


def test_the_page_is_well_formed() -> None:
    assert Elements(rendered(**IDLE)).open == []


def test_the_page_needs_nothing_from_elsewhere() -> None:
    text = rendered(**IDLE)
    tags = Elements(text).found
    assert {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "object", "image", "use", "style"} == {"style"}
    assert [name for _, attributes in tags for name in attributes if name in ("src", "href", "xlink:href", "style")] == []
    assert re.findall(r"https?://|url\(|@import", text) == []


def test_it_is_light_or_dark_as_the_reader_has_it() -> None:
    assert "@media (prefers-color-scheme: dark)" in rendered()


def test_hostile_texts_stay_texts() -> None:
    side = {"revision": HOSTILE, "requests": 1, "ttftP99Range": HOSTILE, "ttftP99Ms": 1}
    record = served.EVIDENCE | {
        "stable": side, "canary": side, "metric": HOSTILE, "edge": HOSTILE, "eValue": HOSTILE, "threshold": HOSTILE, "passEValue": HOSTILE, "rule": HOSTILE,
        "loadRatio": HOSTILE, "distribution": served.DISTRIBUTION | {"metric": HOSTILE},
    }  # fmt: skip
    decision = served.DECISIONS[0] | {"reason": HOSTILE, "message": HOSTILE, "evidence": record}
    service = served.service()
    chat = {"name": HOSTILE, "message": HOSTILE, "expected": HOSTILE, "stable": HOSTILE, "evidence": record, "decisions": [decision]}
    service["status"]["lanes"][0] |= chat
    text = page.render(HOSTILE, why.answers(service, None))
    clean = rendered(decisions=[served.DECISIONS[0]])
    assert {tag for tag, _ in Elements(text).found} == {tag for tag, _ in Elements(clean).found}
    assert "<script" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;") > 20


@pytest.mark.parametrize(
    ("distribution", "titles"),
    [
        pytest.param(served.DISTRIBUTION, ["Share of requests with TTFT up to x", "Share of requests with TTFT over x"], id="a rollback"),
        pytest.param(None, [], id="no distribution"),
        pytest.param({"metric": "ttft"}, [], id="no edges"),
        pytest.param({"metric": "ttft", "edgesMs": [10], "stable": [0, 0], "canary": [0, 0]}, [], id="nothing counted"),
        pytest.param({"metric": "ttft", "edgesMs": [10, 20], "stable": [5, 5, 5], "canary": []}, ["Share of requests with TTFT up to x"], id="no tail"),
        pytest.param(
            {"metric": "e2e", "edgesMs": [10], "stable": [0, 5], "canary": [2, 4]},
            ["Share of requests with E2E up to x", "Share of requests with E2E over x"], id="one edge",
        ),
    ],
)  # fmt: skip
def test_pictures_are_drawn_of_what_was_counted(distribution: dict[str, Any] | None, titles: list[str]) -> None:
    found = evidence(distribution=distribution)
    assert [picture.title for picture in (pictures.distribution(found), pictures.tail(found)) if picture] == titles


def test_every_place_of_a_picture_lies_inside_it() -> None:
    for edge in ("0.75 s", "20 s", "1 ms", ""):
        for picture in (pictures.distribution(evidence(edge=edge)), pictures.tail(evidence(edge=edge))):
            assert picture is not None
            places = [place for line in picture.lines for place in line.points]
            across = [x for x, _ in places] + [tick.at for tick in picture.x_ticks] + ([picture.edge.at] if picture.edge else [])
            assert pictures.LEFT - 0.01 <= min(across) <= max(across) <= pictures.WIDTH - pictures.RIGHT + 0.01
            down = [y for _, y in places] + [tick.at for tick in picture.y_ticks]
            assert pictures.TOP - 0.01 <= min(down) <= max(down) <= pictures.HEIGHT - pictures.BOTTOM + 0.01


def test_the_tail_falls_by_decades_and_ends_where_nothing_lies_beyond() -> None:
    found = evidence(edge="", distribution={"metric": "ttft", "edgesMs": [10, 100, 1000], "stable": [0, 90, 100, 100], "canary": [0, 99, 100, 100]})
    picture = pictures.tail(found)
    assert picture is not None
    assert [tick.label for tick in picture.y_ticks] == ["100 %", "10 %", "1 %"]
    heights = [[round(y, 6) for _, y in line.points] for line in picture.lines]
    top, ten, one = (round(tick.at, 6) for tick in picture.y_ticks)
    assert heights == [[top, ten], [top, one]]


def test_the_timeline_holds_each_weight_until_the_next_decision() -> None:
    decisions = [statuses.Decision.model_validate(decision) for decision in served.DECISIONS]
    line = pictures.timeline(decisions, "2026-01-01T11:28:00Z")
    assert line is not None
    assert [(mark.verdict, mark.label) for mark in line.marks] == [("Insufficient", "1"), ("Fail", "2")]
    assert [tick.label for tick in line.x_ticks] == ["start", "34m20s"]
    assert line.path.split()[0].startswith(f"{pictures.LEFT}.0,")
    assert line.path.split()[-1].startswith(f"{pictures.WIDTH - pictures.RIGHT}.0,")


@pytest.mark.parametrize("started", [None, "2026-01-01T11:59:50Z", "2026-01-01T12:30:00Z"])
def test_a_timeline_of_one_moment_is_drawn(started: str | None) -> None:
    assert pictures.timeline([statuses.Decision.model_validate(served.DECISIONS[0])], started) is not None


def test_without_decisions_there_is_no_timeline() -> None:
    assert pictures.timeline([], "2026-01-01T11:28:00Z") is None
