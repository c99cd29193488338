"""Where a router's files, socket and ports are. One value in a pod; tests have their own."""

import dataclasses

from .. import names


@dataclasses.dataclass(frozen=True)
class Place:
    """Folder and ports of one Envoy. `root` is writable by the agent and readable by Envoy, at the same path in both."""

    root: str = "/run/fairlane"
    address: str = "0.0.0.0"
    port: int = names.ROUTER_PORT
    metrics_port: int = names.ROUTER_METRICS_PORT
    tls_dir: str = "/etc/fairlane/tls"

    @property
    def watched(self) -> str:
        """The folder in which `..data` is swapped: Envoy notices a rename there and nothing else."""
        return f"{self.root}/xds"

    @property
    def admin(self) -> str:
        """Envoy's admin socket, for the agent alone."""
        return f"{self.root}/admin.sock"

    @property
    def leaving(self) -> str:
        """A file that is there once the pod is to stop (its preStop hook makes it)."""
        return f"{self.root}/leaving"

    @property
    def bootstrap(self) -> str:
        """The file that Envoy is started with."""
        return self.file("bootstrap.json")

    def file(self, name: str) -> str:
        """Return the path by which Envoy reads a file."""
        return f"{self.watched}/..data/{name}"

    def source(self, name: str) -> dict[str, object]:
        """Return Envoy's config source of one file."""
        return {"resource_api_version": "V3", "path_config_source": {"path": self.file(name), "watched_directory": {"path": self.watched}}}
