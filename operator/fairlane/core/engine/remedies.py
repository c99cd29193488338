"""What to do about a flag that a version does not have, or will soon have no more."""

import re

from . import catalog, versions

_NAME = re.compile(r"[a-z0-9-]+")


def of_unknown(name: str, version: versions.Version) -> str:
    """Return whether the flag is renamed, removed, not there yet, a `--no-` form or misspelled, and what to write instead."""
    flag = catalog.flags().get(name)
    positive = catalog.find(name.removeprefix("no-"), version)
    if name.startswith("no-") and positive is not None:
        return f"set {positive.name} to false"
    if flag is not None and flag.gone is not None and flag.gone <= version:
        return f"it is {flag.renamed} now, renamed by {flag.gone}" if flag.renamed else f"it was removed by {flag.gone}; {_instead(flag, version)}"
    if flag is not None:
        return f"it came with {flag.since}; " + (f"write {flag.same}" if flag.same else "leave it out or run that version")
    near = catalog.nearest(name.lower(), version)
    return f"did you mean {near}?" if near else "no supported version has it; leave it out"


def of_deprecated(flag: catalog.Flag, version: versions.Version) -> str:
    """Return since when it is deprecated and what to do; empty where this version does not say so."""
    if flag.deprecated is None or version < flag.deprecated:
        return ""
    return f"is deprecated since {flag.deprecated}; " + (f"use {flag.renamed}" if flag.renamed else _instead(flag, version))


def _instead(flag: catalog.Flag, version: versions.Version) -> str:
    if flag.instead:
        other = catalog.flags()[_NAME.findall(flag.instead)[0]]
        return f"use {flag.instead}" + (f", which came with {other.since}" if version < other.since else "")
    return f"leave it out: {flag.why}" if flag.why else "leave it out"
