"""Failures of a command: one sentence and an exit code, never a traceback."""

EXIT_CODES = (
    "Exit codes: 0 done; 1 the answer is no, or the command did nothing; 2 wrong usage; "
    "3 no access to the cluster; 4 no such service or lane; 5 no answer in time."
)
NO, USAGE, ACCESS, MISSING, LATE = 1, 2, 3, 4, 5


class CommandError(Exception):
    """What went wrong, for people, and the exit code for machines."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def missing(kind: str, name: str, where: str, known: list[str]) -> CommandError:
    """Nothing of that name; says what there is."""
    there = f"there is {', '.join(sorted(known))}" if known else "there is none"
    return CommandError(f"no {kind} {name!r} in {where}; {there}", MISSING)
