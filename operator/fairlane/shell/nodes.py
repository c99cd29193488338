"""Which GPUs the nodes have, by the label of GPU feature discovery. Without the right to read nodes nothing is known."""

import time
from collections.abc import Callable

from ..core import observed
from ..core.engine import fitness
from ..core.engine.memory import gpus
from ..core.rollout import fitting
from . import kube, resources

_KEPT_SECONDS = 60.0


class Reader:
    """Reads the nodes where a decision needs them and the spec does not name the GPU."""

    def __init__(self, api: kube.Kube, now: Callable[[], float] = time.monotonic) -> None:
        self._api, self._now = api, now
        self._nodes: list[kube.Object] = []
        self._until = float("-inf")

    async def read(self, value: observed.Observed) -> frozenset[str]:
        """Return the products of the nodes that offer the spec's resource; empty where nothing depends on them, or they may not be read."""
        spec = value.spec
        if spec is None or not fitness.asks_nodes(spec) or not fitting.asks(value):
            return frozenset()
        if self._until <= self._now():
            try:
                self._nodes = await self._api.list(resources.NODE, "")
            except kube.KubeError:
                self._nodes = []
            self._until = self._now() + _KEPT_SECONDS
        having = ((node["metadata"].get("labels") or {}, node.get("status", {}).get("allocatable") or {}) for node in self._nodes)
        return gpus.products(having, spec.engine.gpu.resource)
