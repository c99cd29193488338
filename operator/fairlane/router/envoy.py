"""Envoy as the agent reaches it: files by rename, statistics and drain over its admin socket."""

import os
import pathlib
import shutil
from collections.abc import Mapping

import httpx

from ..core import names
from ..core.routing import place as places
from ..core.routing import taken

_LINK = "..data"


class Files:
    """The folder that Envoy watches. Each set of files is a folder of its own; a rename of the link makes it Envoy's."""

    def __init__(self, place: places.Place) -> None:
        self._folder = pathlib.Path(place.watched)

    def swap(self, files: Mapping[str, str]) -> str:
        """Write the files and make them Envoy's; return the name of the set that was before, empty at first."""
        self._folder.mkdir(parents=True, exist_ok=True)
        target = f"..{names.digest(dict(files), 16)}"
        before = self.current()
        folder = self._folder / target
        if not folder.is_dir():
            building = self._folder / f"{target}.new"
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            for name, text in files.items():
                (building / name).write_text(text, encoding="utf-8")
            building.rename(folder)
        self.point(target)
        self._sweep({target, before})
        return before

    def point(self, target: str) -> None:
        """Make a set that is already written Envoy's."""
        link = self._folder / "..data_new"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        link.rename(self._folder / _LINK)

    def current(self) -> str:
        """Return the name of Envoy's set, empty where there is none."""
        link = self._folder / _LINK
        return os.readlink(link) if link.is_symlink() else ""

    def _sweep(self, keep: set[str]) -> None:
        for folder in self._folder.iterdir():
            if folder.is_dir() and not folder.is_symlink() and folder.name not in keep:
                shutil.rmtree(folder, ignore_errors=True)


class Admin:
    """Envoy's admin interface. httpx.HTTPError where Envoy is away."""

    def __init__(self, socket: str) -> None:
        self._client = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=socket), base_url="http://envoy", timeout=5.0)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def statistics(self) -> dict[str, str]:
        """Return the versions, refusals and active requests."""
        response = await self._client.get("/stats", params={"filter": taken.STATS_FILTER})
        response.raise_for_status()
        return taken.parse(response.text)

    async def fail_health_check(self) -> None:
        """Answer 503 to probes and ask clients to close their connections; everything is still served."""
        (await self._client.post("/healthcheck/fail")).raise_for_status()
