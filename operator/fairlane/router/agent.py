"""The agent's loop: what is seen becomes Envoy's files, what Envoy took becomes the agent's word to the operator."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping

import httpx

from ..core.routing import document, endpoints, failsafe, render, taken
from . import envoy, kube, lease, view
from . import settings as configuration

_LOG = logging.getLogger(__name__)
_POLL, _SETTLE = 0.05, 0.02   # seconds: between looks at Envoy; for news that come together
_TAKE_SECONDS = 5.0           # Envoy reads a renamed file within 50 ms (measured)


class Agent:
    """One router pod's agent."""

    def __init__(self, settings: configuration.Settings, api: kube.Api) -> None:
        self._settings = settings
        self.view = view.View(api, settings)
        self.admin = envoy.Admin(settings.place.admin)
        self._files = envoy.Files(settings.place)
        self._acknowledger = lease.Acknowledger(api, settings)
        self._fail_safe = failsafe.FailSafe()
        self._tried: dict[str, str] = {}   # the files of the last try, taken or not
        self._taken = False
        self.state = document.RouterState()

    @property
    def route(self) -> document.RouteDocument | None:
        """The document that rules now."""
        return self.view.route()

    async def first_files(self) -> None:
        """Write the first files and return: what the init container does. It waits for the API server as long as it takes."""
        async with self._watching():
            while not self.view.ready:
                await self._news(None)
            route = self.view.route()
            assert route is not None
            self._files.swap(render.files(route, self.view.endpoints(), False, self._settings.place, self._settings.pod_name))

    async def run(self) -> None:
        """Serve for ever."""
        async with self._watching():
            while True:
                wait = await self.step(time.monotonic()) if self.view.ready else None
                await self._news(wait)

    async def step(self, now: float) -> float:
        """Look, write, confirm, tell; return the seconds until the next look without news."""
        route, found = self.view.route(), self.view.endpoints()
        assert route is not None
        self._watch_heartbeat(route, now)
        await self._serve(route, found)
        self._acknowledger.say(self.state, now)
        waits = [1.0 if self._acknowledger.behind or not self._taken else self._settings.renew_seconds]
        if (due := failsafe.wake_at(self._fail_safe, route)) is not None:
            waits.append(due - now)
        return max(0.05, min(waits))

    def _watch_heartbeat(self, route: document.RouteDocument, now: float) -> None:
        before = self._fail_safe
        self._fail_safe = failsafe.judge(failsafe.beat(before, self.view.heartbeat(), now), route, now)
        if self._fail_safe.active and not before.active:
            _LOG.warning("no heartbeat of the operator for %.0f s: fail-safe, all traffic of trials to the stable", route.fail_safe_after_seconds)
        if before.active and not self._fail_safe.active:
            _LOG.warning("the heartbeat is back or no canary has weight: the routes rule again; fail-safes so far: %d", self._fail_safe.count)

    async def _serve(self, route: document.RouteDocument, found: endpoints.Endpoints) -> None:
        """Bring Envoy to the files that follow, and the state to what Envoy serves."""
        active = self._fail_safe.active
        files = render.files(route, found, active, self._settings.place, self._settings.pod_name)
        if files != self._tried:
            answer = await self._hand_over(files)
            self._tried, self._taken = files, answer.taken
        elif not self._taken and not self.state.envoy_rejected:   # Envoy was away
            answer = await self._look(files, None, 1)
            self._taken = answer.taken
        else:
            answer = taken.Answer(taken=self._taken, rejected=self.state.envoy_rejected)
        if answer.taken:
            self.state = document.RouterState(
                version=route.version,
                endpoints=endpoints.counts(route, found),
                fail_safe=active,
                fail_safe_count=self._fail_safe.count,
                envoy_rejected=self.view.problem,
            )
        else:
            self.state = self.state.model_copy(
                update={"fail_safe": active, "fail_safe_count": self._fail_safe.count, "envoy_rejected": answer.rejected}
            )

    async def _hand_over(self, files: Mapping[str, str]) -> taken.Answer:
        before = await self._statistics()
        previous = self._files.swap(files)
        answer = await self._look(files, before, round(_TAKE_SECONDS / _POLL))
        if answer.rejected:
            _LOG.error("%s", answer.rejected)
            if previous:
                self._files.point(previous)   # an Envoy that restarts must find what it took
        return answer

    async def _look(self, files: Mapping[str, str], before: Mapping[str, str] | None, tries: int) -> taken.Answer:
        """Poll Envoy until it took or refused the files; without an answer in time, neither."""
        versions = render.versions(files)
        answer = taken.Answer(taken=False)
        for left in range(tries, 0, -1):
            now = await self._statistics()
            if not now:
                return taken.Answer(taken=False)
            answer = taken.judge(versions, now if before is None else before, now)
            if answer.taken or answer.rejected or left == 1:
                return answer
            await asyncio.sleep(_POLL)
        return answer

    async def _statistics(self) -> dict[str, str]:
        try:
            return await self.admin.statistics()
        except httpx.HTTPError as error:
            _LOG.warning("Envoy's admin interface does not answer: %r", error)
            return {}

    async def _news(self, seconds: float | None) -> None:
        """Wait for news or the time, then a moment for what comes with them."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.view.changed.wait(), seconds)
            await asyncio.sleep(_SETTLE)
        self.view.changed.clear()

    @contextlib.asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(cache.run()) for cache in self.view.caches]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
