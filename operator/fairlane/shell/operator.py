"""The operator process: leader election, kopf, queue, HTTP. Ends with kopf; Kubernetes starts it again."""

import asyncio
import contextlib
import datetime
import logging
import secrets
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

import kopf
import pydantic
from aiohttp import web
from kopf._core.engines import peering

from .. import settings as own_settings
from ..core import observed, plan
from . import election, evidence, kube, logs, models, nodes, observe, queue, reconcile, resources, telemetry, wiring, write

_CRD_PAUSE = 3.0   # seconds between two looks for the CRD
_log = logging.getLogger(__name__)


def main() -> int:
    """Run the operator until it is told to stop; return the exit code."""
    try:
        settings = own_settings.OperatorSettings()
    except pydantic.ValidationError as error:
        sys.stderr.write(f"environment variables FAIRLANE_*: {error}\n")
        return 2
    logs.configure(settings.log_level)
    try:
        asyncio.run(run(settings))
    except (election.Lost, kube.KubeError) as error:
        _log.error("the operator ends: %s", error)
        return 1
    return 0


async def run(settings: own_settings.OperatorSettings, stop: asyncio.Event | None = None) -> None:
    """Wait for leadership and the CRD, then run until a signal, or until `stop` is set; Lost when another operator took the Lease."""
    stop = stop or asyncio.Event()
    counters = telemetry.Telemetry()
    health = Health(settings.stalled_seconds)
    async with contextlib.AsyncExitStack() as stack:
        api = await kube.connect(settings.request_seconds)
        stack.push_async_callback(api.close)
        await stack.enter_async_context(_http(counters, health.ailment, settings.http_port))
        chair = election.Election(api, _candidate(settings), _now)
        stack.push_async_callback(chair.release)
        stack.enter_context(_signals(stop))
        if await _unless(stop, chair.acquire()):
            async with _leadership(chair, counters, stop):
                await Operator(settings, api, chair, counters, health).run(stop)


class Health:
    """What /healthz answers: an ailment once a pass is overdue by more than the limit, in seconds."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.passes: queue.Queue | None = None

    def ailment(self) -> str:
        """Return what is wrong; empty: nothing."""
        overdue = self.passes.overdue() if self.passes else 0.0
        return f"a pass is overdue by {overdue:.0f} s, more than {self._limit:g} s" if overdue > self._limit else ""


class Operator:
    """The leading operator."""

    def __init__(
        self, settings: own_settings.OperatorSettings, api: kube.Kube, chair: election.Election, counters: telemetry.Telemetry, health: Health
    ) -> None:
        self._settings = settings
        self._api = api
        self._chair = chair
        self._counters = counters
        self._health = health

    async def run(self, stop: asyncio.Event) -> None:
        """Run kopf and the passes until `stop` is set."""
        if not await _unless(stop, self._crd()):
            return
        gatherer = evidence.Gatherer(self._api)
        reconciler = reconcile.Reconciler(await self._parts(gatherer))
        passes = queue.Queue(reconciler.reconcile, queue.Pace(pass_limit=self._settings.pass_seconds, slots=self._settings.concurrency))
        self._health.passes = passes
        self._counters.watch_queue(lambda: passes.depth, passes.overdue, lambda: reconciler.since_success() if passes.size else 0.0)
        try:
            await kopf.operator(
                registry=wiring.registry(wiring.Wakes(lambda key: passes.wake(key) if self._settings.serves(key[0]) else None), passes.close),
                settings=wiring.settings(),
                standalone=True,
                identity=peering.Identity("fairlane"),   # unused without peering, but kopf would ask for the user's name, and an image's uid has none
                clusterwide=not self._settings.watched,
                namespaces=self._settings.watched,
                stop_flag=stop,
            )
        finally:
            await passes.close()
            await gatherer.close()

    async def _crd(self) -> None:
        """Return once the API server serves our kind: kopf would wait for it in silence, or for ever."""
        told = False
        while not await self._served():
            if not told:
                _log.warning("the CRD %s.%s is not served; waiting for it", resources.SERVICE_OBJECT.plural, resources.SERVICE_OBJECT.group)
                told = True
            await asyncio.sleep(_CRD_PAUSE)

    async def _served(self) -> bool:
        """Whether the API server serves our kind."""
        try:
            return resources.SERVICE_OBJECT.kind in await self._api.served(resources.SERVICE_OBJECT.api_version)
        except kube.Unavailable as error:
            _log.warning("the API server does not answer: %s", error)
            return False

    async def _parts(self, gatherer: evidence.Gatherer) -> reconcile.Parts:
        """Return what passes are made of. A kind of the Prometheus operator that is installed later is seen at the next start."""
        monitoring = {resource.kind for resource in resources.MONITORING}
        installed = observed.Settings(
            router_image=self._settings.router_image,
            agent_image=self._settings.agent_image,
            prometheus_url=self._settings.prometheus_url,
            monitoring_crds=await self._api.served(resources.POD_MONITOR.api_version) & monitoring,
        )
        return reconcile.Parts(
            observer=observe.Observer(self._api, installed),
            writer=write.Writer(self._api, self._counters),
            gather=gatherer.gather,
            model=models.Reader(self._api).read,
            gpus=nodes.Reader(self._api).read,
            decide=plan.plan,
            counters=self._counters,
            leads=self._chair.leads,
            now=_now,
            resync_seconds=self._settings.resync_seconds,
        )


@contextlib.asynccontextmanager
async def _leadership(chair: election.Election, counters: telemetry.Telemetry, stop: asyncio.Event) -> AsyncIterator[None]:
    """Renew the Lease for the time of the block; when it is lost, set `stop` and raise Lost at the end."""
    keeper = asyncio.create_task(chair.keep(), name="leader Lease")
    keeper.add_done_callback(lambda _: stop.set())
    counters.led(True)
    try:
        yield
    finally:
        counters.led(False)
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper


@contextlib.asynccontextmanager
async def _http(counters: telemetry.Telemetry, ailment: Callable[[], str], port: int) -> AsyncIterator[None]:
    """Serve /metrics and /healthz for the time of the block."""
    runner = web.AppRunner(telemetry.application(counters, ailment), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, None, port).start()
        yield
    finally:
        await runner.cleanup()


@contextlib.contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT set `stop`, until kopf takes them over; process 1 of a container has no default for them."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    yield


async def _unless(stop: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Do the work unless `stop` is set first; return whether it was done."""
    worker = asyncio.ensure_future(work)
    stopper = asyncio.ensure_future(stop.wait())
    await asyncio.wait({worker, stopper}, return_when=asyncio.FIRST_COMPLETED)
    stopper.cancel()
    if not worker.done():
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        return False
    await worker
    return True


def _candidate(settings: own_settings.OperatorSettings) -> election.Candidate:
    """Return who this process is in the election."""
    identity = settings.identity or f"{socket.gethostname()}-{secrets.token_hex(3)}"
    return election.Candidate(settings.lease_namespace, settings.lease_name, identity, settings.lease_seconds)


def _now() -> datetime.datetime:
    """Return the wall clock's time in UTC."""
    return datetime.datetime.now(datetime.UTC)
