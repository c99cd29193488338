"""Everything that the machine lacks, in one list with what to do about each: nobody wants to learn it one failure at a time."""
from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import cache, cgroups, debian, network, paths, vllm_env
from .errors import ClusterError

_GIB = 1024**3
_CONTROLLERS_1 = {"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids", "blkio"}
_CONTROLLERS_2 = {"cpu", "cpuset", "memory", "pids"}


@dataclass(frozen=True)
class Problem:
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}\n    -> {self.remedy}"


def problems() -> list[Problem]:
    return [problem for check in CHECKS for problem in check()]


def require() -> None:
    if found := problems():
        raise ClusterError("this machine cannot run the cluster:\n" + "\n".join(f"- {problem}" for problem in found))


def _user() -> Iterator[Problem]:
    if os.geteuid():
        yield Problem("not root: namespaces, control groups and mounts need it", "run as root, or set KUBECONFIG to a cluster of your own")


def _system() -> Iterator[Problem]:
    if platform.machine() != "x86_64":
        yield Problem(f"a processor of type {platform.machine()}", "the packages of Envoy and vLLM are for x86_64: set KUBECONFIG to a cluster of your own")
    if debian.missing() and not shutil.which("apt-get"):
        yield Problem("no apt-get", f"install by hand what brings: {', '.join(debian.PACKAGES[name] for name in debian.missing())}")
    for program in ("unshare", "nsenter", "setsid", "mount"):
        if not shutil.which(program):
            yield Problem(f"no program {program}", "apt-get install util-linux")
    version = _output(vllm_env.SYSTEM_PYTHON, "-c", "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])")
    if version != "3.11":
        what = f"{vllm_env.SYSTEM_PYTHON} is not Python 3.11 with ensurepip ({version or 'it does not run'})"
        yield Problem(what, "pods use the same one. On Debian 12: apt-get install python3 python3-venv")


def _size() -> Iterator[Problem]:
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        yield Problem(f"{cores} core", "two real vLLMs and a cluster need at least 2")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIB
    if memory < 12:
        yield Problem(f"{memory:.0f} GiB of memory", "at least 12 GiB: each real vLLM takes two to three")
    cache.root().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(cache.root()).free / _GIB
    needed = 8 if cache.has("vllm") else 35
    if free < needed:
        yield Problem(f"{free:.0f} GiB free at {cache.root()}", f"{needed} GiB are needed there; XDG_CACHE_HOME moves it")
    if len(str(paths.state())) > 60:
        yield Problem(f"the path {paths.state()} is too long for the sockets in it", "set XDG_RUNTIME_DIR to a shorter one")


def _kernel() -> Iterator[Problem]:
    if os.geteuid():
        return  # nobody else could try
    for what, script in {
        "network, mount and process namespaces": "true",
        "virtual interface pairs (veth)": "ip link add v0 type veth peer name v1",
        "bridges": "ip link add br0 type bridge",
        "the nftables packet filter": "nft add table ip fairlane",
    }.items():
        if script.split()[0] != "true" and not shutil.which(script.split()[0]):
            continue  # its package is still to be installed
        if _output("unshare", "--net", "--mount", "--pid", "--fork", "sh", "-c", script) is None:
            yield Problem(f"the kernel does not give us {what}", "a kernel with them, and not a container without the rights")
    place = cache.root() / "overlay-check"
    options = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
    script = f"cd {place} && mkdir lower upper work merged && mount -t overlay -o {options} overlay merged"
    place.mkdir(parents=True, exist_ok=True)
    if _output("unshare", "--mount", "sh", "-c", script) is None:
        yield Problem(f"no overlay mounts on the file system of {cache.root()}", "set XDG_CACHE_HOME to a folder on a local disk (ext4 or xfs)")
    shutil.rmtree(place, ignore_errors=True)


def _control_groups() -> Iterator[Problem]:
    unified = Path("/sys/fs/cgroup/cgroup.controllers")
    if unified.exists():
        missing = _CONTROLLERS_2 - set(unified.read_text().split())
    else:
        missing = _CONTROLLERS_1 - {name for path in cgroups.hierarchies() for name in path.name.split(",")}
    if missing:
        remedy = "mount them (mount -t cgroup -o NAME NAME /sys/fs/cgroup/NAME), or give this container the host's control groups"
        yield Problem(f"control groups without {', '.join(sorted(missing))}", remedy)


def _addresses() -> Iterator[Problem]:
    if shutil.which("ip"):
        for route in network.foreign_routes():
            yield Problem(f"this machine has a route into addresses that the cluster uses: {route}", "remove that route for the time")


CHECKS: tuple[Callable[[], Iterator[Problem]], ...] = (_user, _system, _size, _kernel, _control_groups, _addresses)


def _output(*command: str) -> str | None:
    """None where it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
