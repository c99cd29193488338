"""The node's network: a namespace with a bridge for the pods, joined to this machine by one pair of interfaces.

This machine's packet filter, forwarding and default route are not touched; pods reach the machine and nothing beyond it.
"""
from __future__ import annotations

import hashlib
import subprocess
from contextlib import suppress

from . import paths, sandbox
from .errors import ClusterError
from .progress import wait_until

# interface names are limited to 15 characters
_HOST_SIDE = "fl" + hashlib.sha256(paths.NAME.encode()).hexdigest()[:8]
_POD_BRIDGE = "cni0"


def create() -> None:
    """The far end is made inside: when the namespace goes, the kernel takes both ends and this machine's routes."""
    pid = sandbox.init_pid()
    _host("link", "add", _HOST_SIDE, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    _host("address", "add", f"{paths.VETH_HOST}/30", "dev", _HOST_SIDE)
    _host("link", "set", _HOST_SIDE, "up")
    sandbox.enter(["sh", "-euc", f"""
        ip link set lo up
        ip address add {paths.VETH_NODE}/30 dev eth0
        ip link set eth0 up
        ip link add {_POD_BRIDGE} type bridge
        ip address add {paths.NODE_IP}/16 dev {_POD_BRIDGE}
        ip link set {_POD_BRIDGE} up
        echo 1 > /proc/sys/net/ipv4/ip_forward
    """])
    for network in (paths.POD_NETWORK, paths.SERVICE_NETWORK):
        _host("route", "add", network, "via", paths.VETH_NODE)


def remove() -> None:
    """The kernel removes it with the namespace, but takes its time."""
    with suppress(ClusterError):
        _host("link", "delete", _HOST_SIDE)
    wait_until("the cluster's network interface to go", lambda: not exists(), 10)


def exists() -> bool:
    return subprocess.run(["ip", "link", "show", _HOST_SIDE], capture_output=True, check=False).returncode == 0


def foreign_routes() -> list[str]:
    """Routes of this machine, not ours, that lead into the addresses we use."""
    used = ("10.87.0.0/30", paths.POD_NETWORK, paths.SERVICE_NETWORK)
    lines = [line for network in used for line in _host("route", "show", "root", network).splitlines()]
    return [line.strip() for line in lines if _HOST_SIDE not in line.split()]


def _host(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
