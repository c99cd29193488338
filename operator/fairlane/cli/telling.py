"""An answer on the terminal: the sentence, both sides' numbers, what decided, both distributions, the decisions."""

import itertools
from collections.abc import Iterator

import rich.console
from rich import markup, table

from ..api import status as statuses
from . import ecdf, figures, output, views, why


def show(answer: why.Answer, console: rich.console.Console) -> None:
    """Print one lane's answer; the sentence first."""
    console.print(f"[bold]{markup.escape(answer.lane)}[/]: {markup.escape(answer.advice.event or answer.headline)}")
    for line in advice(answer):
        console.print(line, markup=False)
    if answer.message:
        console.print(answer.headline, markup=False)
    if answer.expected:
        console.print(f"Expected: {answer.expected}", markup=False)
    if answer.evidence:
        _evidence(answer.evidence, answer.verdict, console)
    if answer.decisions:
        console.print("", _decisions(answer), sep="\n")
    console.print("")


def advice(answer: why.Answer) -> Iterator[str]:
    """What failed, what to do and what the engine said, for a load that failed; nothing for any other answer."""
    told = answer.advice
    if not told.remedy:
        return
    if failed := ": ".join(filter(None, (answer.reason, told.failed))):
        yield f"What failed: {failed}"
    yield f"What to do: {told.remedy}"
    if told.said:
        yield f"It said: {told.said}"


def _evidence(evidence: statuses.EvidenceRecord, verdict: statuses.Outcome | None, console: rich.console.Console) -> None:
    console.print("", f"Evidence from {evidence.since} to {evidence.until}:", _numbers(evidence), "", sep="\n")
    for line in sentences(evidence, verdict):
        console.print(line, markup=False)
    if evidence.distribution and (picture := ecdf.plot(evidence.distribution, figures.edge_ms(evidence))):
        console.print("")
        console.print(picture, markup=False, end="", no_wrap=True)


def sentences(evidence: statuses.EvidenceRecord, verdict: statuses.Outcome | None) -> Iterator[str]:
    """What decided, how sure that is, and by which rule."""
    told = (figures.deciding(evidence, verdict), figures.meaning(evidence), figures.passing(evidence, verdict), evidence.rule and f"Rule: {evidence.rule}")
    yield from filter(None, told)


def _numbers(evidence: statuses.EvidenceRecord) -> table.Table:
    made = output.table("", "STABLE", "CANARY", "CHANGE")
    for row in figures.rows(evidence):
        made.add_row(*map(markup.escape, (row.name, row.stable, row.canary, row.change)))
    return made


def _decisions(answer: why.Answer) -> table.Table:
    made = output.table("AFTER", "STEP", "WEIGHT", "VERDICT", "REQUESTS", "E-VALUE", "WHY", gap=2)
    for step in figures.steps(answer.decisions, answer.started, answer.message):
        cells = itertools.chain((step.after, step.step, step.weight, views.coloured(step.verdict)), map(markup.escape, (step.requests, step.e_value, step.why)))
        made.add_row(*cells)
    return made
