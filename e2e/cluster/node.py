"""Kubelet, kube-proxy and the GPUs that the node says it has."""
from __future__ import annotations

import json
from pathlib import Path

import yaml

from . import cgroups, containerd, paths, sandbox
from .certificates import NODE
from .errors import ClusterError
from .gobuild import KUBERNETES
from .kubectl import kubectl
from .progress import wait_until

SCARCE = "example.com/scarce-gpu"   # one, for what happens where there is no room for a second
GPUS = {"nvidia.com/gpu": 24, SCARCE: 1}
_KUBELET, _PROXY = KUBERNETES.program("kubelet"), KUBERNETES.program("kube-proxy")
PROGRAMS = (_KUBELET, _PROXY)


def start() -> None:
    state, log = paths.state(), paths.daemon_logs()
    (state / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet_config(state)))
    sandbox.start([
        _KUBELET, f"--kubeconfig={state}/node.kubeconfig", f"--config={state}/kubelet.yaml", f"--root-dir={state}/kubelet",
        f"--hostname-override={NODE}", f"--node-ip={paths.NODE_IP}",
    ], log / "kubelet.log")
    sandbox.start([
        _PROXY, f"--kubeconfig={state}/kube-proxy.kubeconfig", f"--hostname-override={NODE}",
        f"--cluster-cidr={paths.POD_NETWORK}", "--proxy-mode=nftables",
        "--conntrack-max-per-core=0",  # a limit of the whole machine, which a namespace may not set and we do not want to
    ], log / "kube-proxy.log")


def wait_ready() -> None:
    wait_until("the node", _ready, 60, log=paths.daemon_logs() / "kubelet.log", every=0.3)


def advertise_gpus() -> None:
    """The documented way to advertise an extended resource: kubelet keeps it and the scheduler counts it, as with a device plugin."""
    patch = [
        {"op": "add", "path": f"/status/{field}/{resource.replace('/', '~1')}", "value": str(count)}
        for field in ("capacity", "allocatable") for resource, count in GPUS.items()
    ]
    kubectl("patch", "node", NODE, "--subresource=status", "--type=json", "--patch", json.dumps(patch))


def _ready() -> bool:
    try:
        return kubectl("get", "node", NODE, "--output", 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == "True"
    except ClusterError:
        return False


def _kubelet_config(state: Path) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{containerd.socket()}",
        "cgroupDriver": "cgroupfs", "cgroupRoot": cgroups.PATH,
        "podLogsDir": str(paths.daemon_logs() / "pods"), "volumePluginDir": f"{state}/volume-plugins",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": f"{state}/ca.crt"}},
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCertFile": f"{state}/kubelet.crt", "tlsPrivateKeyFile": f"{state}/kubelet.key",
        "clusterDNS": [paths.NODE_IP], "clusterDomain": "cluster.local", "resolvConf": "",
        "failSwapOn": False,
        "evictionHard": {"memory.available": "100Mi"},  # not the disk: this machine's may well be fuller than a node's
        "imageGCHighThresholdPercent": 100,             # an image that was loaded cannot be pulled again
        "nodeStatusUpdateFrequency": "5s", "syncFrequency": "10s", "maxPods": 200, "registerWithTaints": [],
    }
