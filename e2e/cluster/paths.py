"""Where things are. Three places: the checkout, the cache, and the state folder, which exists only while a cluster does."""
from __future__ import annotations

import getpass
import os
from pathlib import Path

from . import cache

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
NAME = f"fairlane-{getpass.getuser()}"

# Addresses that only this machine sees. The node has the first of each network.
VETH_HOST, VETH_NODE = "10.87.0.1", "10.87.0.2"
NODE_IP = "10.88.0.1"
POD_NETWORK, SERVICE_NETWORK = "10.88.0.0/16", "10.96.0.0/16"
API_SERVER = f"https://{VETH_NODE}:6443"


def state() -> Path:
    """A short path, because unix sockets live in it (108 bytes at the most)."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or "/run") / NAME


def logs() -> Path:
    """In the cache, so that the last run's are there to read when its cluster is gone."""
    return cache.root() / "log"


def daemon_logs() -> Path:
    return logs() / "daemons"


def kubeconfig() -> Path:
    return state() / "admin.kubeconfig"


def user_kubeconfig() -> str | None:
    """KUBECONFIG, where it means another cluster than the local one."""
    given = os.environ.get("KUBECONFIG")
    return given if given and Path(given) != kubeconfig() else None
