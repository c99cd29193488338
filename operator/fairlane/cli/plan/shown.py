"""A preview for people: what happens first, then each lane's flags, command, GPUs and warnings, then the objects."""

import shlex
from collections.abc import Iterator

import rich.console
from rich import markup, table

from ...core.engine.memory import wording
from ...core.engine.memory.answer import Answer, Preflight
from ...core.preview import types
from .. import output

_COLOURS = {types.Change.CANARY: "yellow", types.Change.CREATE: "green", types.Change.BLOCKED: "red", types.Change.UNFIT: "red", types.Change.REMOVE: "red"}
_ANSWERS = {Answer.FITS: "green", Answer.UNCERTAIN: "yellow", Answer.NO: "red"}
_SIGNS = {"create": "+", "update": "~", "delete": "-"}


def show(preview: types.Preview, console: rich.console.Console) -> None:
    """Print one service."""
    against = "compared with what runs" if preview.compared else "as if nothing ran"
    console.print(f"[bold]{markup.escape(preview.name)}[/] in namespace {markup.escape(preview.namespace)}, {against}")
    for problem in preview.refused:
        console.print(f"[red]refused[/]: {markup.escape(problem)}")
    if preview.lanes:
        console.print("", _summary(preview), sep="\n")
    for lane in preview.lanes:
        if lane.flags:
            _lane(lane, console)
    if preview.at_once:
        console.print("", "[bold]Applies at once, outside the lanes[/]", *(f"  {markup.escape(str(item))}" for item in preview.at_once), sep="\n")
    if preview.objects:
        console.print("", f"[bold]Objects[/]: {_counts(preview)}", *_objects(preview), sep="\n")
    console.print("", _closing(preview), sep="\n")


def _summary(preview: types.Preview) -> table.Table:
    made = output.table("LANE", "CHANGE", "WHAT HAPPENS")
    for lane in preview.lanes:
        colour = "red" if lane.refused else _COLOURS.get(lane.change)
        word = "Refused" if lane.refused else lane.change.value
        made.add_row(lane.name, f"[{colour}]{word}[/]" if colour else word, markup.escape(lane.refused or lane.about))
    return made


def _lane(lane: types.Lane, console: rich.console.Console) -> None:
    console.print("", f"[bold]Lane {lane.name}[/], revision {lane.revision}", sep="\n")
    for title, found in (("needs a canary", lane.canaried), ("applies at once", lane.at_once)):
        for item in found:
            console.print(f"  {title}: {item}", markup=False)
    for warning in lane.warnings:
        console.print(f"  [yellow]warning[/]: {markup.escape(warning)}")
    flags = output.table("  FLAG", "VALUE", "SET BY", "WHERE")
    for flag in lane.flags:
        flags.add_row(f"  {flag.name}", markup.escape(str(flag.value)), flag.origin, markup.escape(flag.field))
    console.print(flags)
    console.print(f"  command: {shlex.join(lane.command)}", markup=False)
    if lane.memory:
        _memory(lane.memory, console)
    needs = output.table("  GPUS", "MORE", "WHEN")
    for need in lane.gpus:
        needs.add_row(f"  {need.gpus}", f"+{need.more}" if need.more else "-", need.during)
    console.print(needs)


def _memory(found: Preflight, console: rich.console.Console) -> None:
    """The answer, what it rests on, what is in doubt."""
    first, rest = found.sentence.split(":", 1)
    console.print(f"  memory: [{_ANSWERS[found.answer]}]{first}[/]:{markup.escape(rest)}")
    if found.parts:
        parts = ", ".join(f"{part.name} {wording.gib(part.bytes)}" for part in found.parts)
        console.print(f"    per GPU: {parts}", markup=False)
    if found.kv_tokens and found.concurrency:
        typical = f", {found.concurrency_typical:.1f} of the longest that the router lets in" if found.concurrency_typical else ""
        console.print(f"    KV cache: {found.kv_tokens:,} tokens; at once {found.concurrency:.1f} sequences of max-model-len{typical}", markup=False)
    for doubt in (doubt for doubt in found.doubts if doubt not in found.sentence):
        console.print(f"    in doubt: {doubt}", markup=False)


def _objects(preview: types.Preview) -> Iterator[str]:
    yield from (f"  {_SIGNS[item.verb]} {item.kind}/{markup.escape(item.name)}" for item in preview.objects)


def _counts(preview: types.Preview) -> str:
    words = (("create", "to create"), ("update", "to change"), ("delete", "to delete"))
    told = [f"{number} {said}" for verb, said in words if (number := sum(item.verb == verb for item in preview.objects))]
    return ", ".join(told)


def _closing(preview: types.Preview) -> str:
    """What it comes to, in a sentence."""
    if preview.would_be_refused:
        return "[red]It would be refused[/]: nothing that runs would be touched."
    if not preview.pending:
        return "Nothing would change."
    trials = [lane.name for lane in preview.lanes if lane.change is types.Change.CANARY]
    return f"Canaries in {', '.join(trials)}; everything else applies at once." if trials else "It applies at once, without a canary."
