"""The flags that a lane's vLLM runs with, each with who set it: vLLM's default < profile < engine.flags < lane.scheduler < lane.flags."""

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from typing import Any

from ...api import spec as specs
from .. import errors
from . import catalog, defaults, profiles, remedies, values, versions

_SCHEDULER = {
    "maxModelLen": "max-model-len",
    "maxNumSeqs": "max-num-seqs",
    "maxNumBatchedTokens": "max-num-batched-tokens",
    "chunkedPrefill": "enable-chunked-prefill",
    "tensorParallelSize": "tensor-parallel-size",
    "gpuMemoryUtilization": "gpu-memory-utilization",
}


class Origin(enum.StrEnum):
    """Who set a value, from the weakest to the strongest."""

    DEFAULT = "default"
    PROFILE = "profile"
    ENGINE = "engine.flags"
    SCHEDULER = "lane.scheduler"
    LANE = "lane.flags"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One flag's value. `name` is the flag's, with a part after a dot where the user set one key of a JSON value."""

    name: str
    value: Any
    origin: Origin
    field: str                 # where it was set; for a default or a profile: what people call it
    flag: catalog.Flag
    written: Any = None        # the value as a user wrote it

    @property
    def words(self) -> list[str]:
        """The words of the command line."""
        return values.spelled(self.flag, self.name, self.value)

    @property
    def by_user(self) -> bool:
        """Whether the object sets it."""
        return self.origin not in (Origin.DEFAULT, Origin.PROFILE)

    def __str__(self) -> str:
        return f"{self.name} {self.value} ({self.field})"


Settings = Mapping[str, Setting]


def strongest(*settings: Setting) -> Setting:
    """Return the one that was set last, which is the one to blame where two do not go together."""
    return max(settings, key=lambda setting: list(Origin).index(setting.origin))


def settings(spec: specs.LLMServiceSpec, lane: specs.Lane, version: versions.Version) -> Settings:
    """Return the effective flags by name; Refused where a user set one that this version does not have, or a value that it does not take."""
    merged: dict[str, Setting] = {}
    merged |= _by_name(_shipped(Origin.DEFAULT, "vLLM's default", defaults.flags(version, spec.engine.gpu), version))
    merged |= _by_name(_shipped(Origin.PROFILE, f"profile {lane.profile}", profiles.get(lane.profile).flags, version))
    merged |= _by_name(_given(Origin.ENGINE, "spec.engine.flags", spec.engine.flags, version))
    merged |= _by_name(_scheduled(lane, version))
    merged |= _by_name(_given(Origin.LANE, f"spec.lanes[{lane.name}].flags", lane.flags, version))
    return dict(sorted(_harmless(merged).items()))


def inputs(lane: specs.Lane, effective: Settings) -> dict[str, Any]:
    """Return what of the flags makes a revision: the profile's whole set and the users' values, without defaults.

    A profile's flags count here even where the version does not know them: a correction of the data of versions must rename no revision.
    """
    chosen = {name: setting for name, setting in effective.items() if setting.by_user}
    merged = dict(profiles.get(lane.profile).flags) | {name: setting.value for name, setting in chosen.items()}
    silent = {name for name, setting in chosen.items() if not setting.words}
    return {name: value for name, value in sorted(merged.items()) if name not in silent}


def _by_name(found: Iterator[Setting]) -> dict[str, Setting]:
    """One layer; Refused where it sets a flag twice in two spellings."""
    layer: dict[str, Setting] = {}
    for setting in found:
        if setting.name in layer:
            raise errors.Refused(setting.field, f"the same flag is set as {layer[setting.name].field} too; keep one of them")
        layer[setting.name] = setting
    return layer


def _shipped(origin: Origin, label: str, flags: Mapping[str, Any], version: versions.Version) -> Iterator[Setting]:
    """Values of ours: a flag that this version does not have is left out, so that one profile serves all versions."""
    for name, value in flags.items():
        flag = catalog.find(name, version)
        if flag is not None:
            yield Setting(name, value, origin, label, flag)


def _given(origin: Origin, path: str, flags: Mapping[str, Any], version: versions.Version) -> Iterator[Setting]:
    """Values of users: whatever cannot be followed is refused."""
    for key, value in flags.items():
        field = f"{path}.{key}"
        base, dot, rest = key.strip().lstrip("-").partition(".")
        flag = _known(field, base.replace("_", "-"), version)
        if dot and flag.kind != "any":
            raise errors.Refused(field, f"{flag.name} takes no keys; set {flag.name} itself")
        taken = value if dot else values.normalise(field, flag, value, version)
        yield Setting(f"{flag.name}{dot}{rest}", taken, origin, field, flag, value)


def _scheduled(lane: specs.Lane, version: versions.Version) -> Iterator[Setting]:
    for key, value in lane.scheduler.model_dump(by_alias=True, exclude_none=True).items():
        field = f"spec.lanes[{lane.name}].scheduler.{key}"
        flag = _known(field, _SCHEDULER[key], version)
        yield Setting(flag.name, values.normalise(field, flag, value, version), Origin.SCHEDULER, field, flag, value)


def _known(field: str, name: str, version: versions.Version) -> catalog.Flag:
    """The flag of this name in this version; Refused with what to do instead."""
    flag = catalog.find(name, version)
    if flag is None:
        raise errors.Refused(field, f"vLLM {version} has no flag {name}; {remedies.of_unknown(name, version)}")
    if flag.owned:
        raise errors.Refused(field, f"{flag.name} is not yours to set: {flag.owned}")
    return catalog.find(flag.same, version) or flag


def _harmless(merged: dict[str, Setting]) -> dict[str, Setting]:
    """A profile's cap on one prompt's share of a step has no effect in a lane whose prompts are all shorter, and vLLM refuses it there."""
    cap, longest = merged.get("long-prefill-token-threshold"), merged.get("max-model-len")
    if cap is None or longest is None or cap.origin is not Origin.PROFILE or not isinstance(longest.value, int) or cap.value <= longest.value:
        return merged
    return {name: setting for name, setting in merged.items() if name != cap.name}
