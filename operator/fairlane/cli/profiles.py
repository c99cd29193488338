"""`fairlane profiles`: the profiles' values, and where to start on a GPU with a model."""

import re
from typing import Any

import rich.console
from rich import markup

from ..api import spec as specs
from ..core.engine import presets, profiles
from ..core.engine.memory import gpus
from ..core.engine.memory.unknown import Unknown
from . import failures, output

_GIB = 2**30
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*[bB]")


def chosen(profile: specs.Profile | None, gpu: str | None, parameters: str | None) -> list[presets.Preset]:
    """Return the presets for a profile, a GPU by its label or memory, and a model by its size; CommandError where one is none."""
    wanted_gpu = presets.gpu_class(_gib(gpu)) if gpu is not None else None
    wanted_model = presets.model_class(_billions(parameters)) if parameters is not None else None
    return [
        item for item in presets.presets()
        if profile in (None, item.profile) and wanted_gpu in (None, item.gpu) and wanted_model in (None, item.model)
    ]


def _gib(text: str) -> float:
    """The usable memory of a product's label, as NVIDIA-L4, or of an amount, as 24Gi."""
    try:
        gpu = specs.Gpu(memory=text) if text[:1].isdigit() else specs.Gpu(product=text)
    except ValueError as error:
        raise failures.CommandError(f"--gpu {text!r} is neither a product's label, as NVIDIA-L4, nor an amount of memory, as 24Gi", failures.USAGE) from error
    found = gpus.usable(gpu)
    if isinstance(found, Unknown):
        raise failures.CommandError(f"--gpu {text}: its memory is not known; write the amount instead, as 24Gi", failures.USAGE)
    return found.bytes / _GIB


def _billions(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise failures.CommandError(f"--parameters {text!r} is no size of a model; write it as 8B", failures.USAGE)
    return float(found[1])


def show(found: list[presets.Preset], console: rich.console.Console) -> None:
    """Print the profiles' own values, then where to start."""
    made = output.table("PROFILE", "FLAG", "VALUE")
    for profile in dict.fromkeys(item.profile for item in found):
        for name, value in profiles.get(profile).flags.items():
            made.add_row(profile.value, name, str(value))
    console.print("[bold]Profiles[/]: what a lane gets that sets nothing. A shipped profile's values never change.", made, "", sep="\n")
    console.print("[bold]Where to start[/]: to be written into lanes\\[].scheduler and lanes\\[].flags, and tuned by canaries. Nothing is applied by itself.")
    made = output.table("PROFILE", "GPU", "MODEL PER GPU", "FLAGS")
    for item in found:
        made.add_row(item.profile.value, item.gpu, item.model, ", ".join(f"{name} {value}" for name, value in item.flags.items()))
    console.print(made, "", sep="\n")
    for name, examples in presets.gpu_classes().items():
        console.print(f"{name}: {examples}", markup=False)
    made = output.table("PROFILE", "FLAG", "WHY")
    for profile in dict.fromkeys(item.profile for item in found):
        reasons = {name: why for item in found if item.profile is profile for name, why in item.why.items()}
        for name, why in reasons.items():
            made.add_row(profile.value, name, markup.escape(why))
    console.print("", made, sep="\n")


def machine(found: list[presets.Preset]) -> dict[str, Any]:
    """Return the JSON form."""
    kinds = dict.fromkeys(item.profile for item in found)
    return {
        "profiles": [{"name": kind.value, "drainSeconds": profiles.get(kind).drain_seconds, "flags": dict(profiles.get(kind).flags)} for kind in kinds],
        "presets": [{"profile": item.profile.value, "gpu": item.gpu, "model": item.model, "flags": dict(item.flags), "why": dict(item.why)} for item in found],
    }
