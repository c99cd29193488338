"""What every model shares: camelCase names, closed objects, and the string types of the Kubernetes API."""

import enum
import re
from typing import Annotated

import pydantic
from pydantic import Field, alias_generators

from . import rules

GROUP = "fairlane.dev"
VERSION = "v1alpha1"
KIND = "LLMService"
PLURAL = "llmservices"

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+)(ms|s|m|h)")
DURATION_PATTERN = r"^([0-9]+(ms|s|m|h))+$"

DurationOrZero = Annotated[str, pydantic.StringConstraints(pattern=DURATION_PATTERN, max_length=16)]
"""A length of time as `30s`, `10m` or `1h30m`; `0s` is none."""

Duration = Annotated[str, pydantic.StringConstraints(pattern=DURATION_PATTERN, max_length=16), Field(json_schema_extra=rules.extra(rules.POSITIVE_DURATION))]
"""A length of time as `30s`, `10m` or `1h30m`, longer than 0 (the API server sees to that)."""

Name = Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
"""A DNS-1123 label."""

Fraction = Annotated[str, pydantic.StringConstraints(pattern=r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$", max_length=8)]
"""A number from 0 to 1 as a string: the Kubernetes API has no portable floats."""

Rate = Annotated[str, pydantic.StringConstraints(pattern=r"^0\.[0-9]{1,4}$", max_length=8), Field(json_schema_extra=rules.extra(rules.RATE))]
"""A probability from 0.0001 to 0.5 as a string."""

Factor = Annotated[str, pydantic.StringConstraints(pattern=r"^([1-9][0-9]?(\.[0-9]{1,4})?|100)$", max_length=8)]
"""A number from 1 to 100 as a string."""

Quantity = Annotated[str, pydantic.StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$", max_length=32)]
"""An amount of bytes as `24Gi`."""

Time = Annotated[str, pydantic.StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$", max_length=32)]
"""An instant in UTC, RFC 3339."""


def seconds(duration: str) -> float:
    """Return the length of a `Duration` in seconds; ValueError names text that is none."""
    if not re.fullmatch(DURATION_PATTERN, duration):
        raise ValueError(f"{duration!r} is no duration; write it as 30s, 10m or 1h30m")
    return sum(int(number) * _UNITS[unit] for number, unit in _DURATION.findall(duration))


def _cut(limit: int) -> pydantic.BeforeValidator:
    """Return what cuts a text to `limit` characters: a status that is too long would be refused as a whole."""
    return pydantic.BeforeValidator(lambda text: text if not isinstance(text, str) or len(text) <= limit else f"{text[: limit - 1]}…")


Text = Annotated[str, pydantic.StringConstraints(max_length=4096), _cut(4096)]
"""Words of the status, cut at their bound."""

Word = Annotated[str, pydantic.StringConstraints(max_length=253), _cut(253)]
"""A name, reason or number of the status, cut at its bound."""


class Model(pydantic.BaseModel):
    """A part of the object as users write it: camelCase, unknown fields refused, immutable."""

    model_config = pydantic.ConfigDict(alias_generator=alias_generators.to_camel, populate_by_name=True, extra="forbid", frozen=True)


class StatusModel(pydantic.BaseModel):
    """A part of the status as the operator writes it: unknown fields dropped, so that an older operator reads a newer status."""

    model_config = pydantic.ConfigDict(alias_generator=alias_generators.to_camel, populate_by_name=True, extra="ignore", frozen=True)

    def dump(self) -> dict[str, object]:
        """Return the JSON form: camelCase, nothing that is unset."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Enum(enum.StrEnum):
    """Values in PascalCase, as the Kubernetes API conventions ask."""
