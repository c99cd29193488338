"""The table: only what was measured. `python -m bench.peers.results` writes it into docs/judge.md."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import rules

HERE = Path(__file__).parent
FILE = HERE / "results.json"
DOCUMENT = HERE.parents[1] / "docs/judge.md"
BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"
JUDGES = {
    "fairlane": "Fairlane", **{f"argo-{limit}": f"Argo, failureLimit {limit}" for limit in rules.LIMITS}, "flagger": f"Flagger, threshold {rules.THRESHOLD}",
}

Row = Mapping[str, Any]


def load(path: Path = FILE) -> list[dict[str, Any]]:
    """The trials measured so far, in the order of the plan."""
    return list(json.loads(path.read_text())) if path.exists() else []


def save(rows: Sequence[Row], path: Path = FILE) -> None:
    """Keep them."""
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def with_row(rows: Sequence[Row], row: Row, order: Sequence[str]) -> list[Row]:
    """The rows with this one in place of an older one of the same trial and kind."""
    kept = [each for each in rows if (each["trial"], each["kind"]) != (row["trial"], row["kind"])]
    return sorted([*kept, row], key=lambda each: (each["kind"] != "change", order.index(each["trial"]) if each["trial"] in order else len(order)))


def markdown(rows: Sequence[Row]) -> str:
    """Both tables and what has to be known to read them."""
    if not rows:
        return "No trial has been measured yet: `make bench-judge-peers`."
    changes, harmless = ([row for row in rows if row["kind"] == kind] for kind in ("change", "a/a"))
    parts = [_HOW.format(**_numbers(rows))]
    if changes:
        words = "Bad changes: seconds from the canary's first weight until it was taken back, requests it had served by then, and bad ones among them."
        parts.append(f"{words}\n\n{_table(changes)}")
    if harmless:
        parts.append("The same exposure without a change (A/A): whoever takes the canary back is wrong.\n\n" + _table(harmless))
    return "\n\n".join(parts)


def _numbers(rows: Sequence[Row]) -> dict[str, str]:
    *first, last = [str(seconds) for seconds in sorted({row["interval"] for row in rows})]
    intervals = f"{', '.join(first)} or {last}" if first else last
    return {"interval": intervals, "window": rules.WINDOW, "ratio": f"{rules.RATIO:g}", "errors": f"{rules.ERRORS * 100:g} %"}


_HOW = """Real vLLM 0.32 with SmolLM2-135M on two cores without a GPU, one stable and one canary replica, one step; `falseRollbackRate` is the default, 1 %.
Beside Fairlane the real Argo Rollouts 1.10.0 and the real Flagger 1.36.1 in the same cluster, each with a workload of its own that does nothing,
started when the canary got its weight. They judge by the canary's series in the same Prometheus, over the last {window}: the p99 of the TTFT over {ratio} times
the stable's, or more than {errors} failed tries. They look every {interval} s: their usual 60 s against our usual first step of 30 min, in proportion to
the step here, but not below Flagger's least, 10 s. No data and NaN are no failure for Argo here, as its documentation advises; Flagger counts
them as failed looks by itself. A bad request failed, or had its first token later than {ratio} times the stable's p99 before the change
(rounded up to a bucket's edge). Once Fairlane has taken the canary back the others have nothing left to judge: "not by then"."""


def _table(rows: Sequence[Row]) -> str:
    lines = ["| change | exposure | " + " | ".join(JUDGES.values()) + " |", "|---" * (2 + len(JUDGES)) + "|"]
    lines += [f"| {row['what']} | {row['exposure']} | {' | '.join(_cell(row, judge) for judge in JUDGES)} |" for row in rows]
    return "\n".join(lines)


def _cell(row: Row, judge: str) -> str:
    said = row["judges"][judge]
    if said["seconds"] is not None:
        by = f", by {said['metric']}" if said.get("metric") else ""
        return f"**rolled back**: {said['seconds']:.0f} s, {said['requests']} requests, {said['bad']} bad{by}"
    return f"not by then ({row['seconds']:.0f} s)" if row["kind"] == "change" else f"kept ({row['seconds']:.0f} s, {row['requests']} requests)"


def filled(document: str, text: str) -> str:
    """The document with the text between its markers; ValueError where it has none."""
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"the document needs the markers {BEGIN} and {END}, once each")
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", document, flags=re.DOTALL)


def main() -> None:
    """Fill the document from the file."""
    DOCUMENT.write_text(filled(DOCUMENT.read_text(), markdown(load())))


if __name__ == "__main__":
    main()
