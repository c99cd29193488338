"""etcd, the API server, the controllers and the scheduler."""
from __future__ import annotations

import ssl
import urllib.request
from pathlib import Path

from . import paths, sandbox
from .gobuild import ETCD, KUBERNETES
from .progress import wait_until

_ETCD_URL = "http://127.0.0.1:2379"
_ETCD = ETCD.program("etcd")
_APISERVER, _MANAGER, _SCHEDULER = (KUBERNETES.program(f"kube-{name}") for name in ("apiserver", "controller-manager", "scheduler"))
PROGRAMS = (_ETCD, _MANAGER, _SCHEDULER)  # the API server is apart: tests stop it


def start_etcd() -> None:
    _start(_ETCD, {
        "data-dir": f"{paths.state()}/etcd", "listen-client-urls": _ETCD_URL, "advertise-client-urls": _ETCD_URL, "listen-peer-urls": "http://127.0.0.1:2380",
        "unsafe-no-fsync": "true",  # nothing of it outlives the cluster
    })


def start_apiserver() -> None:
    state = paths.state()
    _start(_APISERVER, {
        "etcd-servers": _ETCD_URL, "bind-address": "0.0.0.0", "advertise-address": paths.NODE_IP, "secure-port": "6443",
        "tls-cert-file": f"{state}/apiserver.crt", "tls-private-key-file": f"{state}/apiserver.key", "client-ca-file": f"{state}/ca.crt",
        "authorization-mode": "Node,RBAC", "enable-admission-plugins": "NodeRestriction", "allow-privileged": "true",
        "service-account-key-file": f"{state}/sa.pub", "service-account-signing-key-file": f"{state}/sa.key",
        "service-account-issuer": "https://kubernetes.default.svc", "service-cluster-ip-range": paths.SERVICE_NETWORK,
        "kubelet-client-certificate": f"{state}/kubelet-client.crt", "kubelet-client-key": f"{state}/kubelet-client.key",
        "kubelet-certificate-authority": f"{state}/ca.crt", "kubelet-preferred-address-types": "InternalIP",  # the node's name resolves nowhere
    })


def wait_apiserver(timeout: float = 60) -> None:
    wait_until("the API server", apiserver_ready, timeout, log=paths.daemon_logs() / "kube-apiserver.log")


def stop_apiserver() -> None:
    """At once: asked kindly it waits a minute for its watches to end, and what tests want of it is an outage."""
    sandbox.stop(_APISERVER, timeout=1)


def start_controllers() -> None:
    state = paths.state()
    _start(_MANAGER, {
        "kubeconfig": f"{state}/kube-controller-manager.kubeconfig", "use-service-account-credentials": "true",
        "service-account-private-key-file": f"{state}/sa.key", "root-ca-file": f"{state}/ca.crt", "leader-elect": "false",
        "flex-volume-plugin-dir": f"{state}/volume-plugins",  # made at the start, by default in /usr
    })
    _start(_SCHEDULER, {"kubeconfig": f"{state}/kube-scheduler.kubeconfig", "leader-elect": "false"})


def apiserver_runs() -> bool:
    return sandbox.daemon(_APISERVER) is not None


def apiserver_ready() -> bool:
    state = paths.state()
    try:
        context = ssl.create_default_context(cafile=state / "ca.crt")
        context.load_cert_chain(state / "admin.crt", state / "admin.key")
        with urllib.request.urlopen(f"{paths.API_SERVER}/readyz", timeout=2, context=context) as answer:
            return bool(answer.status == 200)
    except OSError:  # among them: not started, no such file, 500 with the checks that fail
        return False


def _start(program: Path, flags: dict[str, str]) -> None:
    sandbox.start([program, *(f"--{name}={value}" for name, value in flags.items())], paths.daemon_logs() / f"{program.name}.log")
