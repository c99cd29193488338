"""The command line of a lane's engine, in exec form: `vllm` is process 1 and gets the signals."""

from .. import names
from . import catalog, effective, versions

SHUTDOWN_TIMEOUT_SINCE = versions.Version(0, 18, 0)   # vLLM #34730; before it, SIGTERM cuts what runs
_QUIET = "disable-uvicorn-access-log"


def command(model: str, served_name: str, settings: effective.Settings, version: versions.Version, drain_seconds: int) -> list[str]:
    """Return the words: model, what Fairlane owns, then the chosen flags by name. vLLM's own defaults are left out."""
    words = ["vllm", "serve", model, "--served-model-name", served_name, "--port", str(names.ENGINE_PORT)]
    if catalog.find(_QUIET, version) is not None:
        words.append(f"--{_QUIET}")
    if version >= SHUTDOWN_TIMEOUT_SINCE:
        words += ["--shutdown-timeout", str(drain_seconds)]
    for setting in settings.values():
        if setting.origin is not effective.Origin.DEFAULT:
            words += setting.words
    return words
