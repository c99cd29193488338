"""Debian packages: what the cluster runs that is not built here."""
from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import paths
from .errors import ClusterError
from .progress import run, say

# package -> a file by which to see that it is there, however it came
PACKAGES = {
    "containerd": "/usr/bin/containerd",
    "runc": "/usr/sbin/runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "nftables": "/usr/sbin/nft",
    "iproute2": "/usr/sbin/ip",
    "util-linux": "/usr/bin/nsenter",
    "busybox-static": "/usr/bin/busybox",
    "prometheus": "/usr/bin/prometheus",
    "mmdebstrap": "/usr/bin/mmdebstrap",
    "buildah": "/usr/bin/buildah",
}
_SERVICES = ("containerd.service", "prometheus.service")  # what these packages would start now and at every boot
_POLICY = Path("/usr/sbin/policy-rc.d")


def missing() -> list[str]:
    return [package for package, file in PACKAGES.items() if not Path(file).exists()]


def install() -> None:
    """Install what is missing, and let none of it run as a service of this machine."""
    wanted = missing()
    if not wanted:
        return
    if os.geteuid():
        raise ClusterError(f"missing Debian packages: {' '.join(wanted)}. As root: apt-get install {' '.join(wanted)}")
    if not shutil.which("apt-get"):
        raise ClusterError(f"no apt-get here, and these programs are missing: {', '.join(PACKAGES[name] for name in wanted)}")
    fresh = [name for name in _SERVICES if not _unit(name).exists()]
    with _no_services():
        _apt_install(wanted)
    _disable([name for name in fresh if _unit(name).exists()])


def _apt_install(packages: list[str]) -> None:
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    log = paths.logs() / "apt.log"
    try:
        run(f"apt-get install {' '.join(packages)}", command, log, env=quiet)
    except ClusterError:  # most likely old package lists: only then are they worth the time
        run("apt-get update", ["apt-get", "update"], paths.logs() / "apt-update.log", env=quiet)
        run(f"apt-get install {' '.join(packages)}", command, log, env=quiet)


@contextmanager
def _no_services() -> Iterator[None]:
    """Debian's way to install without starting; a policy that the machine has already is its owner's and stays."""
    ours = not _POLICY.exists()
    if ours:
        _POLICY.write_text("#!/bin/sh\nexit 101\n")
        _POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            _POLICY.unlink()


def _disable(units: list[str]) -> None:
    if units and shutil.which("systemctl"):
        say(f"not to start at boot: {' '.join(units)}")
        subprocess.run(["systemctl", "disable", *units], capture_output=True, check=False)


def _unit(name: str) -> Path:
    return Path("/lib/systemd/system") / name
