"""Measure an OpenAI endpoint: `run(Config(...))` sends bounded load and returns what every request met; `stats` makes numbers of it."""

from .config import Config
from .load import Progress, run, run_async
from .results import Run, Sample

__all__ = ["Config", "Progress", "Run", "Sample", "run", "run_async"]
