"""From a lane's spec to a revision: inputs, hash and pod template."""

from typing import Any

from ...api import spec as specs
from .. import names, revisions
from . import checks, command, effective, models, podpatch, profiles, template, versions


def render(service: str, spec: specs.LLMServiceSpec, lane: specs.Lane) -> revisions.Rendered:
    """Return what the lane's spec asks for; errors.Refused where it cannot be.

    The hash is of the inputs, not of the template: an operator that renders differently renames nothing.
    Replicas, admission, timeouts, match and objectives are no inputs, because they apply without a canary; so the time a pod may drain
    follows from the profile and not from `timeouts.drain`.
    """
    version = versions.resolve(spec.engine)
    settings = effective.settings(spec, lane, version)
    checks.check(lane, settings)
    drain = profiles.get(lane.profile).drain_seconds
    source = models.resolve(spec.model)
    gpus = template.gpus({name: setting.value for name, setting in settings.items()})
    words = command.command(source.argument, spec.model.name, settings, version, drain)
    plain = template.template(template.Parts(service, lane.name, spec.engine, version, source, words, gpus, drain))
    inputs = _inputs(service, spec, lane, version, settings)
    return revisions.Rendered(
        lane=lane.name,
        inputs=inputs,
        template=podpatch.apply(plain, spec.engine.pod, spec.engine.gpu.resource),
        gpus=gpus,
        hash=names.digest(inputs),
    )


def _inputs(service: str, spec: specs.LLMServiceSpec, lane: specs.Lane, version: versions.Version, settings: effective.Settings) -> dict[str, Any]:
    """What makes a pod different. Service and lane are among it, as labels, and keep two lanes' revisions from sharing a name.

    Fields at their defaults are left out: a field that a later schema adds must rename no revision.
    """
    engine = spec.engine
    return {
        "service": service,
        "lane": lane.name,
        "profile": lane.profile.value,
        "model": spec.model.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"config_map_ref"}),
        "engine": {
            "image": engine.image,
            "version": str(version),
            "gpu": engine.gpu.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"memory"}),
            "pod": engine.pod,
        },
        "flags": effective.inputs(lane, settings),
    }
