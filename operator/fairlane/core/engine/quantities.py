"""Quantities of the Kubernetes API: `24Gi`, `500m`, `2`."""

import re

from .. import errors

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([numkMGTPE]|[KMGTPE]i)?")
_UNITS = {
    None: 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}


def parse(field: str, text: str) -> float:
    """Return the quantity as a number; Refused where the text is none."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise errors.Refused(field, f"{text!r} is no quantity; write it as 24Gi")
    return float(found[1]) * _UNITS[found[2]]
