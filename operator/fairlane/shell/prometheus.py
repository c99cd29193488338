"""Evidence from Prometheus: one round of queries per lane and tick, under one deadline; whatever goes wrong becomes `Unavailable`.

httpx instead of prometheus-api-client: that one blocks in a thread that no deadline ends, and its retries outlast a tick.
Queries go by GET: proxies with rights per verb let readers do no more.
"""

import asyncio
import datetime
import json
import math
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from ..api import status as statuses
from ..core import errors, observed
from ..core.judge import evidence as judging
from ..core.judge import queries, types

DEADLINE = 5.0              # seconds for all queries of a pass
MAX_BYTES = 16 * 2**20      # of one answer
_SHOWN = 200                # characters of a foreign text in a message


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


async def evidence(seen: observed.Observed, http: httpx.AsyncClient, deadline: float = DEADLINE) -> Mapping[str, types.Evidence | types.Unavailable]:
    """Return the evidence of every lane whose canary has traffic. Never raises for what the store does or says."""
    windows = _windows(seen)
    if not windows:
        return {}
    if wrong := _unusable(url(seen)):
        return dict.fromkeys(windows, types.Unavailable("NotConfigured", wrong))
    gathered = await asyncio.gather(*(_lane(seen, window, http, deadline) for window in windows.values()))
    return dict(zip(windows, gathered, strict=True))


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
    """The window of every lane with a canary under traffic: from the warm-up's or the step's beginning until now."""
    labels = seen.spec.metrics.prometheus.labels if seen.spec else {}
    windows = {}
    for lane in seen.status.lanes:
        since = _since(lane)
        if since and lane.stable and lane.canary:
            begin = min(datetime.datetime.fromisoformat(since), seen.now)
            windows[lane.name] = queries.Window(seen.name, seen.namespace, lane.name, lane.stable, lane.canary, begin, seen.now, labels)
    return windows


def _since(lane: statuses.LaneStatus) -> str | None:
    """When the window began; None without canary traffic. A canary keeps its weight while the next step's replicas load or wait for a node."""
    match lane.phase:
        case statuses.Phase.WARMING:
            return lane.phase_since
        case statuses.Phase.ANALYZING | statuses.Phase.PROMOTING:
            return lane.step_since or lane.phase_since
        case statuses.Phase.LOADING | statuses.Phase.WAITING:
            return lane.step_since if lane.weight else None
        case _:
            return None


async def _lane(seen: observed.Observed, window: queries.Window, http: httpx.AsyncClient, deadline: float) -> types.Evidence | types.Unavailable:
    """One lane's evidence."""
    address = url(seen)
    place = str(httpx.URL(address).copy_with(userinfo=b"")).rstrip("/")   # a password in the address is nobody's to read
    try:
        asked = queries.queries(window)
        async with asyncio.timeout(deadline):
            answers = await asyncio.gather(*(_ask(http, address, query) for query in asked), return_exceptions=True)
        failed = next((answer for answer in answers if isinstance(answer, BaseException)), None)
        if failed is not None:
            raise failed
    except TimeoutError:
        return types.Unavailable("PrometheusUnreachable", f"Prometheus at {place} did not answer within {deadline:g} s")
    except (httpx.HTTPError, OSError) as error:
        return types.Unavailable("PrometheusUnreachable", f"Prometheus at {place}: {str(error) or type(error).__name__}"[:_SHOWN * 2])
    except _BadAnswer as error:
        return types.Unavailable("PrometheusError", f"Prometheus at {place}: {error}")
    except errors.Refused as error:
        return types.Unavailable("NotConfigured", str(error))
    results = {query.name: answer for query, answer in zip(asked, answers, strict=True) if not isinstance(answer, BaseException)}
    return judging.assemble(window, results, (_ready(seen, window.lane, window.stable), _ready(seen, window.lane, window.canary)))


async def _ask(http: httpx.AsyncClient, address: str, query: queries.Query) -> Sequence[judging.Sample]:
    """One query's samples; _BadAnswer names the query."""
    parameters = {"query": query.text, "time": f"{query.time:.3f}"}
    body = bytearray()
    async with http.stream("GET", f"{address}/api/v1/query", params=parameters) as response:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                raise _BadAnswer(f"query {query.name}: the answer is over {MAX_BYTES >> 20} MiB")
    try:
        return parse(response.status_code, bytes(body))
    except _BadAnswer as error:
        raise _BadAnswer(f"query {query.name}: {error}") from error


def parse(code: int, body: bytes) -> Sequence[judging.Sample]:
    """Return the samples of an answer to an instant query; a FairlaneError says what it is instead."""
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
        return [_sample(item) for item in answer["data"]["result"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _BadAnswer(f"no result of a query: {_shown(body)}") from error


def _sample(item: Any) -> judging.Sample:
    value = float(item["value"][1])
    labels = {str(name): str(text) for name, text in item["metric"].items()}
    if not math.isfinite(value):
        raise _BadAnswer(f"{item['value'][1]} is no count (pod {labels.get('pod', '?')})")
    return judging.Sample(labels, value)


def _shown(body: bytes) -> str:
    text = " ".join(body.decode(errors="replace").split())
    return (text[:_SHOWN] + "…" if len(text) > _SHOWN else text) or "an empty answer"


def _ready(seen: observed.Observed, lane: str, revision: str) -> int:
    return sum(1 for pod in seen.pods if pod.lane == lane and pod.revision == revision and pod.ready and not pod.terminating)
