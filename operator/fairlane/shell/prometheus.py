"""Evidence from Prometheus: one round of queries per lane and tick, under one deadline; whatever goes wrong becomes `Unavailable`.

httpx instead of prometheus-api-client: that one blocks in a thread that no deadline ends, and its retries outlast a tick.
Queries go by GET: proxies with rights per verb let readers do no more.
"""

import asyncio
import dataclasses
import datetime
import json
import math
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from ..api import base
from ..api import status as statuses
from ..core import clock, errors, observed
from ..core import traffic as measured
from ..core.judge import evidence as judging
from ..core.judge import memory, queries, samples, types

DEADLINE = 5.0              # seconds for all queries of a pass
MAX_SKEW = 15.0             # seconds between the clocks of Prometheus and the operator
MAX_BYTES = 16 * 2**20      # of one answer
_SHOWN = 200                # characters of a foreign text in a message


@dataclasses.dataclass(frozen=True)
class Gathered:
    """What a pass learns from the metrics store, by lane."""

    evidence: Mapping[str, types.Evidence | types.Unavailable] = dataclasses.field(default_factory=dict)
    rates: Mapping[str, float] = dataclasses.field(default_factory=dict)     # requests/s in the last hour, where a canary loads
    traffic: Mapping[str, measured.Traffic] = dataclasses.field(default_factory=dict)     # where a lane may get synthetic load
    caches: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)     # by revision that has just loaded: its KV cache


class _BadAnswer(errors.FairlaneError):
    """Prometheus answered something that is no result."""


def client(token: str = "", ca: str = "", headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
    """Return a client with these credentials; ValueError where `ca` holds no PEM certificate. The caller closes it."""
    context = ssl.create_default_context()
    if ca:
        try:
            context.load_verify_locations(cadata=ca)
        except ssl.SSLError as error:
            raise ValueError(f"the CA for Prometheus is no PEM certificate: {error}") from error
    bearer = {"Authorization": f"Bearer {token.strip()}"} if token else {}
    return httpx.AsyncClient(headers={**bearer, **(headers or {})}, verify=context, timeout=DEADLINE, follow_redirects=False)


def url(seen: observed.Observed) -> str:
    """The metrics store's address: the service's own, else the installation's; empty where neither is set."""
    own = seen.spec.metrics.prometheus.url if seen.spec else None
    return (own or seen.settings.prometheus_url).rstrip("/")


async def gather(seen: observed.Observed, http: httpx.AsyncClient, deadline: float = DEADLINE) -> Gathered:
    """Return the evidence of every lane whose canary has traffic, and the rates of those whose canary loads. Never raises for what the store does or says."""
    windows, loading = _windows(seen), _loading(seen)
    if not windows and not loading:
        return Gathered()
    if wrong := _unusable(url(seen)):
        return Gathered(dict.fromkeys(windows, types.Unavailable("NotConfigured", wrong)))
    found, rates = await asyncio.gather(
        asyncio.gather(*(_lane(seen, window, http, deadline) for window in windows.values())),
        asyncio.gather(*(_rate(seen, lane, http, deadline) for lane in loading)),
    )
    known = {lane: rate for lane, rate in zip(loading, rates, strict=True) if rate is not None}
    return Gathered(dict(zip(windows, found, strict=True)), known)


def _unusable(address: str) -> str:
    """Say why an address can be no Prometheus; empty where it may."""
    if not address:
        return "no Prometheus is configured: set spec.metrics.prometheus.url or the operator's prometheusUrl"
    try:
        parsed = httpx.URL(address)
    except httpx.InvalidURL as error:
        return f"the Prometheus address {address!r} is none: {error}"
    if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < (parsed.port or 80) < 65536:
        return f"the Prometheus address {address!r} is none: write it as http://prometheus.monitoring:9090"
    return ""


def _windows(seen: observed.Observed) -> dict[str, queries.Window]:
    """The next tick of every lane with a canary under traffic; none yet where the last one has just ended: the pass was woken by something else."""
    windows = {}
    for lane in seen.status.lanes:
        cursor = memory.cursor(lane.judge_state)
        if lane.stable and lane.canary and _weighs(lane) and not _just_asked(seen, cursor):
            began = clock.moment(lane.started_at) if lane.started_at else None
            compared = lane.baseline or lane.stable
            windows[lane.name] = queries.Window(
                seen.name, seen.namespace, lane.name, compared, lane.canary, cursor, _labels(seen), began, reference=lane.stable
            )
    return windows


def _weighs(lane: statuses.LaneStatus) -> bool:
    """Whether the canary has traffic. It keeps its weight while the next step's replicas load or wait for a node."""
    match lane.phase:
        case statuses.Phase.WARMING | statuses.Phase.ANALYZING | statuses.Phase.PROMOTING:
            return True
        case statuses.Phase.LOADING | statuses.Phase.WAITING:
            return lane.weight > 0
        case _:
            return False


def _just_asked(seen: observed.Observed, cursor: types.Cursor | None) -> bool:
    if cursor is None or seen.spec is None:
        return False
    interval = base.seconds(seen.spec.rollout.analysis.interval)
    return 0 <= (seen.now - cursor.until).total_seconds() < interval / 2


def _loading(seen: observed.Observed) -> list[str]:
    """Lanes whose rate says what their steps can be expected to show, which is not said yet."""
    phases = (statuses.Phase.LOADING, statuses.Phase.WAITING)
    return [lane.name for lane in seen.status.lanes if lane.phase in phases and lane.canary and not lane.weight and not lane.expected]


def _labels(seen: observed.Observed) -> Mapping[str, str]:
    return seen.spec.metrics.prometheus.labels if seen.spec else {}


async def _lane(seen: observed.Observed, window: queries.Window, http: httpx.AsyncClient, deadline: float) -> types.Evidence | types.Unavailable:
    """One lane's evidence."""
    address = url(seen)
    place = str(httpx.URL(address).copy_with(userinfo=b"")).rstrip("/")   # a password in the address is nobody's to read
    try:
        async with asyncio.timeout(deadline):
            now = _moment(await ask(http, address, queries.CLOCK))
            if skewed := _skew(seen.now, now, window.cursor):
                return types.Unavailable("ClockSkew", skewed)
            until = now - datetime.timedelta(seconds=queries.SETTLE)
            results = await _round(http, address, queries.queries(window, until))
    except TimeoutError:
        return types.Unavailable("PrometheusUnreachable", f"Prometheus at {place} did not answer within {deadline:g} s")
    except (httpx.HTTPError, OSError) as error:
        return types.Unavailable("PrometheusUnreachable", f"Prometheus at {place}: {str(error) or type(error).__name__}"[:_SHOWN * 2])
    except _BadAnswer as error:
        return types.Unavailable("PrometheusError", f"Prometheus at {place}: {error}")
    except errors.Refused as error:
        return types.Unavailable("NotConfigured", str(error))
    replicas = _ready(seen, window.lane, window.stable), _ready(seen, window.lane, window.canary)
    return judging.assemble(window, until, results, replicas, _created(seen))


async def _rate(seen: observed.Observed, lane: str, http: httpx.AsyncClient, deadline: float) -> float | None:
    """A lane's requests per second lately; None where it cannot be had: it decides nothing."""
    try:
        async with asyncio.timeout(deadline):
            found = await ask(http, url(seen), queries.rate(seen.name, seen.namespace, lane, _labels(seen)))
    except (TimeoutError, httpx.HTTPError, OSError, errors.FairlaneError):
        return None
    return found[0].value if found else None


def _moment(answer: Sequence[samples.Sample]) -> datetime.datetime:
    """Prometheus' clock, to the millisecond that its queries know."""
    try:
        return datetime.datetime.fromtimestamp(round(answer[0].value, 3), datetime.UTC)
    except (IndexError, ValueError, OverflowError, OSError) as error:
        raise _BadAnswer(f"query {queries.CLOCK.name}: no time in the answer") from error


def _skew(ours: datetime.datetime, theirs: datetime.datetime, cursor: types.Cursor | None) -> str:
    """Say that the clocks disagree; empty where they do not."""
    remedy = "synchronise the nodes' clocks (NTP)"
    apart = (theirs - ours).total_seconds()
    if abs(apart) > MAX_SKEW:
        return f"Prometheus' clock is {abs(apart):.0f} s {'behind' if apart < 0 else 'ahead of'} the operator's: {remedy}"
    back = (cursor.until - theirs).total_seconds() + queries.SETTLE if cursor else -1.0
    return f"Prometheus' clock went back by {back:.0f} s or more since the last tick: {remedy}" if back >= 0 else ""


async def _round(http: httpx.AsyncClient, address: str, asked: Sequence[queries.Query]) -> dict[str, Sequence[samples.Sample]]:
    """All queries' samples by name; the first failure is raised when all have ended."""
    answers = await asyncio.gather(*(ask(http, address, query) for query in asked), return_exceptions=True)
    results = {}
    for query, answer in zip(asked, answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        results[query.name] = answer
    return results


async def ask(http: httpx.AsyncClient, address: str, query: queries.Query) -> Sequence[samples.Sample]:
    """Return one query's samples; a FairlaneError names the query and what was answered."""
    parameters = {"query": query.text} if query.time is None else {"query": query.text, "time": f"{query.time:.3f}"}
    body = bytearray()
    async with http.stream("GET", f"{address}/api/v1/query", params=parameters) as response:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                raise _BadAnswer(f"query {query.name}: the answer is over {MAX_BYTES >> 20} MiB")
    try:
        return parse(response.status_code, bytes(body), query.gauge)
    except _BadAnswer as error:
        raise _BadAnswer(f"query {query.name}: {error}") from error


def parse(code: int, body: bytes, gauge: bool = False) -> Sequence[samples.Sample]:
    """Return the samples of an answer to an instant query; a FairlaneError says what it is instead. A gauge that is no number was not measured."""
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise _BadAnswer(f"HTTP {code} without JSON: {_shown(body)}") from error
    if not isinstance(answer, dict) or answer.get("status") != "success" or code != httpx.codes.OK:
        said = answer.get("error") if isinstance(answer, dict) else None
        raise _BadAnswer(f"HTTP {code}: {_shown(str(said).encode() if said else body)}")
    if warnings := answer.get("warnings"):
        raise _BadAnswer(f"only part of the data: {_shown(str(warnings).encode())}")
    try:
        if answer["data"]["resultType"] != "vector":
            raise _BadAnswer(f"a {answer['data']['resultType']} where a vector was asked for")
        found = [_sample(item) for item in answer["data"]["result"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _BadAnswer(f"no result of a query: {_shown(body)}") from error
    strange = next((sample for sample in found if not math.isfinite(sample.value)), None)
    if strange and not gauge:
        raise _BadAnswer(f"{strange.value} is no count ({strange.name or 'a sum'} of pod {strange.pod or '?'})")
    return [sample for sample in found if math.isfinite(sample.value)]


def _sample(item: Any) -> samples.Sample:
    return samples.Sample({str(name): str(text) for name, text in item["metric"].items()}, float(item["value"][1]))


def _shown(body: bytes) -> str:
    text = " ".join(body.decode(errors="replace").split())
    return (text[:_SHOWN] + "…" if len(text) > _SHOWN else text) or "an empty answer"


def _ready(seen: observed.Observed, lane: str, revision: str) -> int:
    """How many of a revision's pods get requests: all that are ready, but for those that stand by."""
    ready = sum(1 for pod in seen.pods if pod.lane == lane and pod.revision == revision and pod.ready and not pod.terminating)
    return seen.routes.used(lane, revision, ready) if seen.routes else ready


def _created(seen: observed.Observed) -> dict[str, datetime.datetime]:
    """When the pods that exist were created."""
    pods = {pod.name: pod.created for pod in seen.pods}
    return pods | {pod.name: pod.created for pod in seen.router_pods if pod.created}
