"""The answer before anything is started, with its numbers."""

import dataclasses
import enum

from .estimate import Pool
from .search import Remedy


class Answer(enum.StrEnum):
    """Whether vLLM will load."""

    FITS = "Fits"
    UNCERTAIN = "Uncertain"
    NO = "No"


@dataclasses.dataclass(frozen=True)
class Part:
    """One line of the table: bytes of one GPU's memory."""

    name: str
    bytes: int


@dataclasses.dataclass(frozen=True)
class Preflight:
    """The answer, and what it rests on. Numbers are None where they are not known; bytes are per GPU."""

    answer: Answer
    sentence: str
    parts: tuple[Part, ...] = ()
    kv_tokens: int | None = None
    concurrency: float | None = None           # sequences of the full length at once, by the KV cache
    concurrency_typical: float | None = None   # and of the typical length
    longest: int | None = None                 # the largest max-model-len that fits, in whole blocks
    remedy: Remedy | None = None               # another flag's value that fits, where no max-model-len does
    margin: int | None = None                  # of the KV cache beyond one sequence of the full length
    margin_share: float | None = None          # of the KV cache
    doubts: tuple[str, ...] = ()
    pool: Pool | None = None                   # for `compare`, once the engine has loaded
