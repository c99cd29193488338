"""What a run leaves: every request's times, saved as JSON."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from . import config as configs

FORMAT = 1
KINDS = ("ok", "429", "4xx", "5xx", "timeout", "connection", "broken stream")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One request. Times in seconds; `at` since the run's start; latencies from the moment it was due (open loop) or sent (closed)."""

    at: float
    kind: str                               # one of KINDS
    status: int = 0                         # 0: no answer
    ttft: float | None = None               # to the first content; none without streaming
    e2e: float = 0.0
    gaps: tuple[float, ...] = ()            # between pieces of content
    output_tokens: int = 0
    refused: int = 0                        # 429 answers that were waited out
    lane: str = ""
    track: str = ""
    revision: str = ""
    message: str = ""                       # of an error
    text: str = ""                          # the answer's first characters

    @property
    def ok(self) -> bool:
        """Whether a whole answer came."""
        return self.kind == "ok"


@dataclasses.dataclass(frozen=True)
class Run:
    """A run and all its requests."""

    started_at: str                         # RFC 3339
    seconds: float
    config: dict[str, Any]
    samples: tuple[Sample, ...]

    def save(self, path: Path) -> None:
        """Write it as JSON; OSError as the file system has it."""
        document = {"format": FORMAT, **dataclasses.asdict(self)}
        path.write_text(json.dumps(document, default=str, separators=(",", ":")) + "\n")


def load(path: Path) -> Run:
    """Read a saved run; BadConfig says what the file is instead."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise configs.BadConfig(f"{path}: format {document['format']}, this version reads {FORMAT}")
        samples = tuple(Sample(**{**row, "gaps": tuple(row["gaps"])}) for row in document["samples"])
        return Run(document["started_at"], document["seconds"], document["config"], samples)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise configs.BadConfig(f"{path}: no saved run (fairlane probe --save): {error}") from error


def described(config: configs.Config) -> dict[str, Any]:
    """The configuration as a run keeps it, without the headers' values and a password in the address."""
    scheme, _, rest = config.url.partition("://")
    host, slash, path = rest.partition("/")
    plain = dataclasses.asdict(config) | {"headers": sorted(config.headers), "url": f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"}
    return {key: str(value) if isinstance(value, Path) else value for key, value in plain.items()}
