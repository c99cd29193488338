"""The report: one HTML file with everything in it."""
from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .record import Claim, Moment, Run, Trial

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2rem auto; padding: 0 1rem; color: #1d2730 }
h1 { margin-bottom: 0 } h2 { margin-top: 2.2rem } img { max-width: 100% }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #dde3e8 }
.yes { color: #1b7f3b; font-weight: 600 } .no { color: #b3261e; font-weight: 600 }
.act td { background: #f4f6f8; font-weight: 600 } .failure td { background: #fdecea }
.number { text-align: right; white-space: nowrap } code { background: #f1f3f5; padding: 0 .2em } .rule { max-width: 34em }
"""


def render(run: Run, pictures: Mapping[str, bytes]) -> str:
    """The whole page; `pictures` are PNGs by lane."""
    images = "".join(_picture(lane, png) for lane, png in pictures.items())
    parts = [
        f"<h1>Fairlane: the main job, end to end</h1><p>{_text(run.started)}, {run.seconds:.0f} s. {_verdict(run)}</p>",
        "<h2>What was promised, and what was seen</h2>" + _claims(run.claims),
        "<h2>Timeline</h2>" + images,
        "<h2>Rollouts and the evidence of each decision</h2>" + "".join(map(_trial, run.trials)),
        "<h2>Users' requests</h2>" + _users(run),
        "<h2>What happened</h2>" + _moments(run.moments),
    ]
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Fairlane demo</title><style>{_STYLE}</style><body>{"".join(parts)}</body></html>\n'


def _picture(lane: str, png: bytes) -> str:
    return f'<img alt="timeline of lane {_text(lane)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def _verdict(run: Run) -> str:
    broken = [claim.name for claim in run.claims if not claim.holds]
    if run.succeeded:
        return '<span class="yes">Everything promised was seen.</span>'
    return f'<span class="no">Not seen: {_text("; ".join(broken) or "the run did not come that far")}.</span>'


def _claims(claims: Iterable[Claim]) -> str:
    return _table(("", "promise", "seen"), ([_sign(claim.holds), _text(claim.name), _text(claim.seen)] for claim in claims))


def _sign(holds: bool) -> str:
    return '<span class="yes">✓</span>' if holds else '<span class="no">✗</span>'


def _trial(trial: Trial) -> str:
    record = trial.record
    head = (
        f"<h3>{_text(trial.title)}: {_text(record['result'])}</h3>"
        f"<p>Lane <code>{_text(record['lane'])}</code>, <code>{_text(record['stable'])}</code> → <code>{_text(record['canary'])}</code>. "
        f"{_text(record['reason'])}: {_text(record['message'])}<br>{trial.ended - trial.began:.0f} s from the change to the end; "
        f"{trial.canary_answers} answers came from the canary; {trial.failures} user requests failed.</p>"
    )
    return head + _table(("time", "weight", "verdict", "why", "stable", "canary"), map(_decision, record.get("decisions", [])))


def _decision(decision: Mapping[str, Any]) -> list[str]:
    evidence = decision.get("evidence") or {}
    why = f'<div class="rule">{_text(decision["reason"])}: {_text(decision["message"])}</div>'
    tracks = [_track(evidence.get(side)) for side in ("stable", "canary")]
    return [_text(decision["time"][11:19]), f"{decision['weight']} %", _text(decision["verdict"]), why, *tracks]


def _track(track: Mapping[str, Any] | None) -> str:
    """One side's numbers, those that there are."""
    if not track:
        return "–"
    numbers = [f"{track.get('requests', 0)} requests, {track.get('errors', 0)} errors"]
    names = {"ttftP50Ms": "TTFT p50", "ttftP99Ms": "TTFT p99", "itlP99Ms": "ITL p99", "tpotP99Ms": "TPOT p99", "queueP99Ms": "queue p99", "e2eP99Ms": "E2E p99"}
    numbers += [f"{name} {track[key]} ms" for key, name in names.items() if track.get(key) is not None]
    return "<br>".join(map(_text, numbers))


def _users(run: Run) -> str:
    counts = _table(("requests", "number"), ([_text(name), f'<div class="number">{number}</div>'] for name, number in sorted(run.answers.items())))
    failed = "<p>None failed.</p>" if not run.failures else "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in run.failures) + "</ul>"
    return counts + failed


def _moments(moments: Sequence[Moment]) -> str:
    in_order = sorted(moments, key=lambda moment: moment.at)
    rows = "".join(f'<tr class="{_text(each.kind)}"><td class="number">{each.at:.0f} s</td><td>{_text(each.text)}</td></tr>' for each in in_order)
    return f"<table>{rows}</table>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def _text(value: object) -> str:
    return html.escape(str(value))
