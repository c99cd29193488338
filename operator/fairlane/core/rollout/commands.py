"""Commands of the CLI: each has an id and is handled once; one that does not fit says why nothing was done."""

import dataclasses

from ...api import status as statuses
from .. import observed, planned
from . import promoting, reasons, rollback, trying, view

HANDLED = 20
NAMES = ("pause", "resume", "promote", "abort", "retry", "trial")


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why a command does nothing."""

    message: str


def due(command: observed.Command | None, handled: list[str]) -> observed.Command | None:
    """Return the command if it has not been handled yet."""
    return command if command is not None and command.id not in handled else None


def remembered(handled: list[str], command: observed.Command | None) -> list[str]:
    """Return the ids handled, with this one, the oldest forgotten beyond twenty."""
    return handled if command is None else [*handled, command.id][-HANDLED:]


def ignored(command: observed.Command, why: str) -> planned.Event:
    """The event of a command that did nothing."""
    return view.warning(reasons.EVENT_COMMAND_IGNORED, f"{command.lane or 'service'}: {command.command} {command.revision}".rstrip() + f" did nothing: {why}")


def follow(lane: view.View, command: observed.Command) -> view.Move:
    """Return the lane after the command."""
    found = _follow(lane, command)
    return view.Move(lane.status, (ignored(command, found.message),)) if isinstance(found, Refusal) else found


def _follow(lane: view.View, command: observed.Command) -> view.Move | Refusal:
    if not lane.status.stable:
        return Refusal("the lane has no revision yet")
    if command.command == "retry":
        return _retry(lane, command.revision)
    if (wrong := _wrong_revision(lane, command.revision)) is not None:
        return wrong
    match command.command:
        case "pause":
            return _pause(lane, paused=True)
        case "resume":
            return _pause(lane, paused=False)
        case "promote":
            return _promote(lane)
        case "abort":
            return _abort(lane)
        case "trial":
            return Refusal(why) if (why := trying.obstacle(lane)) else trying.start(lane)
        case _:
            return Refusal(f"there is no such command; use one of {', '.join(NAMES)}")


def _wrong_revision(lane: view.View, revision: str) -> Refusal | None:
    """A command for one revision never hits the next: it names the canary, or what would be the next one."""
    status = lane.status
    named = view.hash_of(revision)
    fits = revision in (status.canary, view.hash_of(status.canary)) if status.canary else named in (lane.rendered.hash, lane.stable_hash)
    if not revision or fits:
        return None
    return Refusal(f"it names revision {revision}, but " + (f"{status.canary} is on trial" if status.canary else "no revision is on trial"))


def _pause(lane: view.View, *, paused: bool) -> view.Move | Refusal:
    if lane.status.paused is paused:
        return Refusal("the lane is paused already" if paused else "the lane is not paused")
    text = "nothing advances until `fairlane resume`; a failing canary is still rolled back" if paused else "the rollout goes on"
    return view.Move(view.changed(lane.status, paused=paused), (_followed(lane, "pause" if paused else "resume", text),))


def _promote(lane: view.View) -> view.Move | Refusal:
    status = lane.status
    if not status.canary:
        return _start_at_once(lane)
    if status.trial:
        return Refusal(trying.FORBIDDEN)
    if status.phase in (statuses.Phase.PROMOTING, statuses.Phase.ROLLING_BACK):
        return Refusal(f"the lane is {status.phase} already")
    return promoting.command(lane)


def _start_at_once(lane: view.View) -> view.Move | Refusal:
    if lane.status.paused and lane.differs and not lane.rejected:
        told = _followed(lane, "promote", "the lane is no longer paused; promote again when the canary exists")
        return view.Move(view.changed(lane.status, paused=False), (told,))
    return Refusal("no revision is on trial")


def _abort(lane: view.View) -> view.Move | Refusal:
    status = lane.status
    if not status.canary:
        return Refusal("no revision is on trial")
    if status.phase is statuses.Phase.ROLLING_BACK:
        return Refusal("the lane is rolling back already")
    at = f"at {status.weight} %" if status.weight else "before it had any traffic"
    return rollback.begin(lane, status, reasons.ABORTED, f"{status.canary} was aborted {at} by `fairlane abort`", reject=True)


def _retry(lane: view.View, revision: str) -> view.Move | Refusal:
    wanted = view.hash_of(revision) or lane.rendered.hash
    if wanted not in lane.status.rejected:
        return Refusal(f"revision {wanted} is not rejected")
    left = [item for item in lane.status.rejected if item != wanted]
    return view.Move(view.changed(lane.status, rejected=left), (_followed(lane, "retry", f"revision {wanted} may be tried again"),))


def _followed(lane: view.View, command: str, text: str) -> planned.Event:
    return view.normal(reasons.EVENT_COMMAND, f"{lane.spec.name}: {command}: {text}")
