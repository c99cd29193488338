"""What of a bench is to run: all of it, or what the command line names."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """The name on the command line."""


T = TypeVar("T", bound=Named)


def chosen(arguments: Sequence[str], everything: Sequence[T], what: str) -> list[T] | None:
    """Return those that the arguments name, all where they name none; None, with a sentence on standard error, where there is no such one."""
    names = [item.name for item in everything]
    if unknown := set(arguments) - set(names):
        print(f"no {what} {', '.join(sorted(unknown))}: choose of {', '.join(names)}", file=sys.stderr)
        return None
    return [item for item in everything if not arguments or item.name in arguments]
