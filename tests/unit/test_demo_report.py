"""The demo's report: values in, one self-contained page out."""
from __future__ import annotations

import re

import pytest
from e2e.demo import chart, record, report

DECISION = {
    "time": "2026-11-29T12:34:56Z", "step": 0, "weight": 10, "verdict": "Fail", "reason": "SlowFirstToken", "message": "p99 <worse>",
    "evidence": {"stable": {"requests": 200, "errors": 0, "ttftP99Ms": 240}, "canary": {"requests": 32, "errors": 1, "ttftP99Ms": 2400}},
}
TRIAL = record.Trial(
    "a bad change",
    {"lane": "chat", "stable": "aaaa-1", "canary": "bbbb-1", "result": "RolledBack", "reason": "Slow", "message": "m", "decisions": [DECISION]},
    10.0, 157.0, 32, 0,
)


def run(*, holds: bool = True) -> record.Run:
    return record.Run(
        1_800_000_000.0,
        samples=[record.Sample(float(at), "chat", "Analyzing", 10, "Insufficient", "aaaa-1", "bbbb-1", 0.2, None if at < 3 else 1.5) for at in range(6)],
        moments=[record.Moment(5.0, "event", "<b>later</b>"), record.Moment(1.0, "act", "sooner"), record.Moment(2.0, "failure", "HTTP 503")],
        claims=[record.Claim("the answer is a sentence", True, "Paris is the capital."), record.Claim("it rolled back", holds, "after 147 s")],
        trials=[TRIAL], answers={"chat": 200, "documents": 9}, seconds=900.0,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Everything promised was seen.", id="the verdict"),
        pytest.param("p99 &lt;worse&gt;", id="a message, escaped"),
        pytest.param("TTFT p99 2400 ms", id="the canary's evidence"),
        pytest.param("147 s from the change to the end; 32 answers came from the canary; 0 user requests failed", id="what it took"),
        pytest.param("12:34:56", id="the time of a decision"),
        pytest.param('src="data:image/png;base64,UE5H"', id="the picture inside"),
        pytest.param("None failed.", id="the users' side"),
    ],
)
def test_the_page_has(text: str) -> None:
    assert text in report.render(run(), {"chat": b"PNG"})


def test_the_page_needs_nothing_else() -> None:
    page = report.render(run(), {"chat": b"PNG"})
    assert re.findall(r"""(?:src|href)=["'](?!data:)""", page) == []
    assert "http" not in page.replace("HTTP", "")


def test_moments_are_in_order_of_time() -> None:
    page = report.render(run(), {})
    assert page.index("sooner") < page.index("HTTP 503") < page.index("&lt;b&gt;later")


def test_a_broken_promise_is_named_at_the_top() -> None:
    page = report.render(run(holds=False), {})
    assert "Not seen: it rolled back." in page


def test_a_run_without_claims_has_not_succeeded() -> None:
    assert record.Run(0.0).succeeded is False


def test_the_timeline_is_a_png_also_without_samples() -> None:
    assert chart.png(run(), "chat")[:4] == b"\x89PNG"
    assert chart.png(record.Run(0.0), "chat")[:4] == b"\x89PNG"
