"""The KV caches that engines have after they loaded, from Prometheus. What cannot be had is left out and asked for again."""

import asyncio
import logging
from collections.abc import Mapping

import httpx

from ..core import errors, observed
from ..core.judge import queries
from ..core.rollout import fitting
from . import prometheus

_log = logging.getLogger(__name__)


async def read(seen: observed.Observed, http: httpx.AsyncClient, deadline: float = prometheus.DEADLINE) -> Mapping[str, Mapping[str, str]]:
    """Return the labels of vllm:cache_config_info by revision, of those that have loaded and were not compared with the prediction yet."""
    wanted = {lane.name: revision for lane in seen.status.lanes if (revision := fitting.unmeasured(lane))}
    if not wanted or not prometheus.url(seen):
        return {}
    labels = seen.spec.metrics.prometheus.labels if seen.spec else {}
    asked = [queries.cache(seen.name, seen.namespace, lane, revision, labels) for lane, revision in wanted.items()]
    try:
        async with asyncio.timeout(deadline):
            answers = await asyncio.gather(*(prometheus.ask(http, prometheus.url(seen), query) for query in asked))
    except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, errors.FairlaneError) as error:
        _log.info("the engines' KV caches are not known: %s", str(error) or type(error).__name__)
        return {}
    return {revision: answer[0].labels for revision, answer in zip(wanted.values(), answers, strict=True) if answer}
