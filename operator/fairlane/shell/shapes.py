"""The traffic of lanes that get synthetic load, from Prometheus. What cannot be had is left out: the load then goes on as it was told before."""

import asyncio
import logging
from collections.abc import Mapping

import httpx

from ..api import status as statuses
from ..core import clock, errors, names, observed, traffic
from ..core.judge import queries
from . import prometheus

_log = logging.getLogger(__name__)
_PHASES = (statuses.Phase.WARMING, statuses.Phase.ANALYZING)


async def read(seen: observed.Observed, http: httpx.AsyncClient, deadline: float = prometheus.DEADLINE) -> Mapping[str, traffic.Traffic]:
    """Return the traffic by lane of those that have a canary under trial and may get synthetic load."""
    if seen.spec is None or seen.spec.rollout.analysis.synthetic_load is None:
        return {}
    lanes = [lane for lane in seen.status.lanes if lane.canary and lane.stable and lane.started_at and lane.phase in _PHASES]
    found = await asyncio.gather(*(_lane(seen, lane, http, deadline) for lane in lanes))
    return {lane.name: one for lane, one in zip(lanes, found, strict=True) if one is not None}


async def _lane(seen: observed.Observed, lane: statuses.LaneStatus, http: httpx.AsyncClient, deadline: float) -> traffic.Traffic | None:
    """One lane's; None where it cannot be had, which the judge's own queries say louder."""
    assert seen.spec is not None
    assert lane.started_at is not None
    window = queries.Window(seen.name, seen.namespace, lane.name, lane.stable, lane.canary, labels=seen.spec.metrics.prometheus.labels)
    stored = seen.loads.get(lane.name)
    known = stored is not None and stored.measured and stored.key == names.synthetic_key(seen.uid, lane.name, lane.canary)
    asked = traffic.asked(window, seen.now, clock.moment(lane.started_at), lengths=not known)
    try:
        async with asyncio.timeout(deadline):
            answers = await asyncio.gather(*(prometheus.ask(http, prometheus.url(seen), query) for query in asked))
    except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, errors.FairlaneError) as error:
        _log.info("the traffic of lane %s is not known: %s", lane.name, str(error) or type(error).__name__)
        return None
    return traffic.assemble({query.name: answer for query, answer in zip(asked, answers, strict=True)})
