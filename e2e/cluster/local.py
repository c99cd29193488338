"""The life of the local cluster: up, down, and what is left when neither came to its end."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from . import cache, certificates, cgroups, containerd, controlplane, debian, dns, gobuild, images, network, node, preflight, prometheus, sandbox, vllm_env
from .errors import ClusterError
from .paths import daemon_logs, state
from .process_id import ProcessId
from .progress import say, telling

# where its programs write whatever their flags say; inside, each is an empty file system in memory
_PRIVATE = ("/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")


def build_for_tests() -> None:
    """What tests without a cluster run: kube-apiserver and etcd, vLLM's parser. Needs neither root nor images."""
    gobuild.build()
    vllm_env.environment()


def build() -> list[images.Image]:
    """All that takes minutes the first time and nothing afterwards."""
    if not running():
        preflight.require()
    debian.install()
    gobuild.build()
    vllm_env.model()
    return images.build()


def up(owner: ProcessId | None) -> None:
    """Start the cluster, or make whole the one that runs. It ends with its owner; without one it stays until `down`."""
    built = build()
    with cache.lock("cluster"):
        if running() and not (gone := _gone()):
            _heal()
            images.load(built)
            if abandoned():
                _complete().write_text(json.dumps(None))
            return
        if running():
            say(f"the cluster that runs has lost {', '.join(gone)}: starting it anew")
        _clear()
        started = time.monotonic()
        try:
            _start(built)
        except BaseException:
            _clear()
            raise
        _complete().write_text(json.dumps(asdict(owner) if owner else None))
        say(f"the cluster is up: {time.monotonic() - started:.0f} s")


def down(only_abandoned: bool = False) -> None:
    with cache.lock("cluster"):
        if not only_abandoned or (left() and (not running() or abandoned())):
            _clear()


def running() -> bool:
    return _complete().exists() and sandbox.init_pid() is not None


def abandoned() -> bool:
    """It was to end with the program that started it, and that is gone."""
    owner = json.loads(_complete().read_text()) if running() else None
    return owner is not None and not ProcessId(**owner).alive()


def left() -> list[str]:
    """What there is of a cluster, whole or not."""
    found = [str(path) for path in (state(), containerd.data(), *cgroups.left()) if path.exists()]
    pid = sandbox.init_pid()
    return [*found, *([f"process {pid}"] if pid else []), *(["network interface"] if network.exists() else [])]


def _complete() -> Path:
    return state() / "complete"


def _start(built: list[images.Image]) -> None:
    state().mkdir(parents=True, mode=0o755)
    shutil.rmtree(daemon_logs(), ignore_errors=True)  # of the cluster before, kept until now to be read
    _make_private_places()
    cgroups.create()
    sandbox.create()
    for place in _PRIVATE:
        sandbox.enter(["mount", "-t", "tmpfs", "tmpfs", place])
    network.create()
    certificates.write(state())
    controlplane.start_etcd()
    containerd.start()
    controlplane.start_apiserver()
    with _meanwhile(lambda: _start_runtime(built)):
        controlplane.wait_apiserver()
        controlplane.start_controllers()
    say("starting the node, DNS and Prometheus")
    node.start()
    dns.start()
    prometheus.start_discovery()
    prometheus.SHARED.launch()
    prometheus.publish()
    node.wait_ready()
    node.advertise_gpus()
    prometheus.SHARED.wait_ready()


def _start_runtime(built: list[images.Image]) -> None:
    containerd.wait_ready()
    images.load(built)


@contextmanager
def _meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Run it beside the block; its error is the block's."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    yield
    thread.join()
    if errors:
        raise errors[0]


def _gone() -> list[str]:
    """Programs without which a cluster cannot be made whole again."""
    programs = (*controlplane.PROGRAMS, *node.PROGRAMS, containerd.PROGRAM, dns.PROGRAM)
    return [Path(program).name for program in programs if not sandbox.daemon(program)]


def _heal() -> None:
    """A test that was killed may have left something stopped."""
    if not controlplane.apiserver_runs():
        say("the API server was stopped: starting it")
        controlplane.start_apiserver()
    controlplane.wait_apiserver()
    if not prometheus.SHARED.ready():
        say("Prometheus was stopped: starting it")
        prometheus.SHARED.start()


def _clear() -> None:
    """Safe at any point of a start, and where there is nothing: every step finds its own and is done when that is gone."""
    sandbox.destroy()
    network.remove()
    cgroups.remove()
    with telling("removing what the cluster had unpacked"):
        subprocess.run(["rm", "-rf", containerd.data()], check=True)  # tens of thousands of files: faster than shutil's
    made = state() / "made-folders"
    for place in made.read_text().split() if made.exists() else []:
        if Path(place).exists():
            Path(place).rmdir()
    shutil.rmtree(state(), ignore_errors=True)
    if remains := left():
        raise ClusterError(f"could not remove: {', '.join(remains)}")


def _make_private_places() -> None:
    """Something to mount on; which of them were ours to remove is noted before they are made."""
    absent = [place for place in _PRIVATE if not Path(place).exists()]
    (state() / "made-folders").write_text("\n".join(absent))
    for place in absent:
        os.makedirs(place)
