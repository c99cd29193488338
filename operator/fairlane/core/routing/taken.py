"""Whether Envoy took the files: read from its own statistics."""

import dataclasses
import re
from collections.abc import Mapping

from . import clusters, routes

STATS_FILTER = "(version_text|update_rejected|update_failure|load_error|downstream_rq_active)$"
_LINE = re.compile(r'^(?P<name>\S+): "?(?P<value>[^"]*)"?$')
_FIXED = {"lds.json": "listener_manager.lds", "cds.json": "cluster_manager.cds", "rds.json": f"http.ingress.rds.{routes.NAME}", "rtds.json": "runtime"}
_REFUSALS = ("update_rejected", "update_failure", "load_error")


@dataclasses.dataclass(frozen=True)
class Answer:
    """What Envoy made of a set of files."""

    taken: bool
    rejected: str = ""   # which files it refused; empty with taken=False: it has not read them yet


def parse(text: str) -> dict[str, str]:
    """Return the statistics of Envoy's plain text answer."""
    matches = (_LINE.match(line.strip()) for line in text.splitlines())
    return {match["name"]: match["value"] for match in matches if match}


def judge(versions: Mapping[str, str], before: Mapping[str, str], now: Mapping[str, str]) -> Answer:
    """Return what became of the files of these versions, from the statistics before they were written and now."""
    behind = [name for name, version in versions.items() if (scope := _scope(name)) and now.get(f"{scope}.version_text") != version]
    if not behind:
        return Answer(taken=True)
    refused = [name for name in behind if any(_grew(f"{_scope(name)}.{counter}", before, now) for counter in _REFUSALS)]
    return Answer(taken=False, rejected=f"Envoy refused {', '.join(refused)} and keeps the last good ones; its log says why" if refused else "")


def active_requests(now: Mapping[str, str]) -> int:
    """Return how many requests of clients Envoy serves now."""
    return int(now.get("http.ingress.downstream_rq_active", "0"))


def _scope(file_name: str) -> str:
    """The statistics' scope of a file; certificates have none that says a version."""
    if file_name.startswith("eds-"):
        return f"cluster.{clusters.name(file_name.removeprefix('eds-').removesuffix('.json'))}"
    return _FIXED.get(file_name, "")


def _grew(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    return int(now.get(name, "0")) > int(before.get(name, "0"))
