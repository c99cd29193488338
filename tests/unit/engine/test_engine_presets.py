"""Where to start: every profile, class of GPU and size of model has one preset, whose flags vLLM takes."""

import itertools

import pytest
from tests.unit.engine import make

from fairlane.api import spec as specs
from fairlane.core.engine import presets

MODELS = ("up to 4B", "4B to 15B", "15B and more")
each = pytest.mark.parametrize("preset", [pytest.param(item, id=f"{item.profile}, {item.gpu}, {item.model}") for item in presets.presets()])


def test_each_case_has_one() -> None:
    cases = sorted((item.profile.value, item.gpu, item.model) for item in presets.presets())
    assert cases == sorted(itertools.product([profile.value for profile in specs.Profile], presets.gpu_classes(), MODELS))


@each
def test_its_flags_are_taken(preset: presets.Preset) -> None:
    assert make.rendered(make.service(lane={"profile": preset.profile.value, "flags": dict(preset.flags)})).hash


@each
def test_every_flag_has_its_reason(preset: presets.Preset) -> None:
    assert [name for name in preset.flags if not preset.why[name]] == []


@pytest.mark.parametrize(("gib", "expected"), [
    (14.6, "24 GiB"), (22.0, "24 GiB"), (30, "40-48 GiB"), (39.4, "40-48 GiB"), (44.4, "40-48 GiB"), (79.1, "80 GiB and more"), (178, "80 GiB and more"),
])
def test_the_class_of_a_gpu(gib: float, expected: str) -> None:
    assert presets.gpu_class(gib) == expected


@pytest.mark.parametrize(("billions", "expected"), [(0.1, "up to 4B"), (4, "4B to 15B"), (14.9, "4B to 15B"), (15, "15B and more"), (405, "15B and more")])
def test_the_class_of_a_model(billions: float, expected: str) -> None:
    assert presets.model_class(billions) == expected
