"""One message that says what failed, what to do and what the engine said, in this order: what is too long for a status loses its end."""

import dataclasses
import re

_TO_DO, _SAID = "; what to do: ", "; it said: "
_EVENT = re.compile(r"(.{0,600}? ended by itself \([^()]{0,300}\)): (.*)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Advice:
    """The parts of such a message; empty where it has none."""

    event: str             # which pod ended, and how
    failed: str = ""
    remedy: str = ""
    said: str = ""


def joined(failed: str, remedy: str, said: str = "") -> str:
    """Return the message. What the engine said is left out where the sentence has it already."""
    return f"{failed}{_TO_DO}{remedy}" + (f"{_SAID}{said}" if said and said not in failed else "")


def parts(message: str) -> Advice:
    """Return the parts of a message that `joined` wrote, with whatever stands before it; any other message is an event without a remedy."""
    head, _, tail = message.partition(_TO_DO)
    remedy, _, said = tail.partition(_SAID)
    found = _EVENT.fullmatch(head) if remedy else None
    return Advice(found[1], found[2], remedy, said) if found else Advice(head, "", remedy, said)
