"""The process that reads a claim's model: `python -m fairlane model FOLDER`. What it finds, or why it finds nothing, is its container's termination message."""

import pathlib
import sys

from . import hub
from .core.engine import termination
from .core.engine.memory.unknown import Unknown

MESSAGE = pathlib.Path("/dev/termination-log")     # Kubernetes' own place; every user may write it


def run(folder: str) -> int:
    """Read the folder's files and tell what they say; return the exit code: 0 where they do, 1 where not, 2 where even that cannot be told."""
    told = termination.message(hub.folder(pathlib.Path(folder)))
    try:
        MESSAGE.write_text(told, encoding="ascii")
    except OSError as error:
        sys.stderr.write(f"{MESSAGE} cannot be written: {error}\n")
        return 2
    sys.stderr.write(f"{told}\n")
    return 1 if isinstance(termination.parse(told, folder), Unknown) else 0
