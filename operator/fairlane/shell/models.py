"""What the models' files say, for the memory preflight: from a ConfigMap or from the hub, whose answers are kept. Whatever goes wrong becomes Unknown."""

import dataclasses
import time
from collections.abc import Awaitable, Callable

from .. import hub
from ..api import spec as specs
from ..core import errors, names, observed
from ..core.engine import fitness, modelfiles
from ..core.engine.memory.unknown import Unknown
from ..core.rollout import fitting
from . import kube, resources, secrets

_KEPT_SECONDS = 3600.0       # what the hub said
_FAILED_SECONDS = 300.0      # that it could not be asked
_KEPT = 256                  # models

Fetch = Callable[[modelfiles.HubModel, str], Awaitable[fitness.Model]]


@dataclasses.dataclass(frozen=True)
class _Kept:
    model: fitness.Model
    until: float


class Reader:
    """Reads the files where a decision needs them: a pass that only watches a canary waits for no hub."""

    def __init__(self, api: kube.Kube, fetch: Fetch = hub.fetch, now: Callable[[], float] = time.monotonic) -> None:
        self._api, self._fetch, self._now = api, fetch, now
        self._kept: dict[str, _Kept] = {}

    async def read(self, value: observed.Observed) -> fitness.Model | None:
        """Return what is known of the service's model; None where nothing depends on it now."""
        spec = value.spec
        if spec is None or spec.rollout.preflight is specs.Preflight.OFF or not fitting.asks(value):
            return None
        if modelfiles.is_on_claim(spec):
            return None   # a pod reads it (core/rollout/reading.py)
        if spec.model.config_map_ref is not None:
            return await self._config_map(value.namespace, spec.model.config_map_ref.name)
        model = modelfiles.hub_model(spec, spec.engine.flags)
        if model is None:
            return modelfiles.missing(spec)
        try:
            token = await secrets.read(self._api, value.namespace, spec.model.token_secret_ref, "spec.model.tokenSecretRef")
        except (errors.Refused, kube.KubeError) as error:
            return Unknown(str(error))
        return await self._hub(model, token.strip())

    async def _config_map(self, namespace: str, name: str) -> fitness.Model:
        try:
            found = await self._api.get(resources.CONFIG_MAP, namespace, name)
        except kube.KubeError as error:
            return Unknown(f"spec.model.configMapRef: {error}")
        if found is None:
            return Unknown(f"spec.model.configMapRef: there is no ConfigMap {name} in namespace {namespace}; create it")
        return modelfiles.of_config_map(found.get("data") or {}, name)

    async def _hub(self, model: modelfiles.HubModel, token: str) -> fitness.Model:
        """The hub's answer, or the one that is kept; by token, so that nobody sees what only another may read."""
        if hub.is_offline():
            return Unknown(f"HF_HUB_OFFLINE is set, so the hub was not asked for {model.name}; put config.json into a ConfigMap (spec.model.configMapRef)")
        key = names.digest([model.name, model.revision, token], 32)
        kept = self._kept.get(key)
        if kept is None or kept.until <= self._now():
            found = await self._fetch(model, token)
            seconds = _FAILED_SECONDS if isinstance(found, Unknown) else _KEPT_SECONDS
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[key] = _Kept(found, self._now() + seconds)
        return kept.model
