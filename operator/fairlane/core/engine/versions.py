"""Which vLLM a service runs."""

import re
from typing import NamedTuple

from ...api import spec as specs
from .. import errors

_FIELD = "spec.engine.version"
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?!\d|\.\d)")


class Version(NamedTuple):
    """A release of vLLM; compares as releases do."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


FIRST = Version(0, 8, 0)
LAST_MINOR = (0, 33)


def parse(text: str) -> Version | None:
    """Return the release at the head of `v0.32.0`, `0.32.0-cu129`, `0.8.5.post1`, `0.32`; None where there is none."""
    found = _VERSION.match(text)
    return Version(*(int(number or 0) for number in found.groups())) if found else None


def resolve(engine: specs.Engine) -> Version:
    """Return the version that `engine.version`, else the image's tag, names; Refused where none does or it is not supported."""
    version = _stated(engine.version) if engine.version is not None else _tagged(engine.image)
    if version < FIRST or version[:2] > LAST_MINOR:
        named = engine.version or f"the tag of {engine.image}"
        raise errors.Refused(
            _FIELD,
            f"vLLM {version} (from {named}) is outside the supported 0.8 to {LAST_MINOR[0]}.{LAST_MINOR[1]}; "
            "set a supported image, or this field where the tag does not mean vLLM's version",
        )
    return version


def _stated(text: str) -> Version:
    version = parse(text)
    if version is None:
        raise errors.Refused(_FIELD, f"{text!r} is no version of vLLM; write it as 0.32.0")
    return version


def _tagged(image: str) -> Version:
    _, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    version = parse(tag)
    if version is None:
        raise errors.Refused(_FIELD, f"the tag of spec.engine.image {image!r} names no version of vLLM; set this field, for example to 0.32.0")
    return version
