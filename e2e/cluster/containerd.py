"""The container runtime, with everything it writes in folders of ours."""
from __future__ import annotations

from pathlib import Path

from . import cache, paths, sandbox
from .errors import ClusterError
from .progress import wait_until

PROGRAM = "/usr/bin/containerd"
PAUSE = "docker.io/local/pause:1"


def socket() -> Path:
    return paths.state() / "containerd.sock"


def data() -> Path:
    """Unpacked images and containers: big, so beside the cache and not in the state folder, which may be in memory."""
    return cache.root() / "node"


def start() -> None:
    _write_config()
    sandbox.start([PROGRAM, "--config", paths.state() / "containerd.toml"], paths.daemon_logs() / "containerd.log")


def wait_ready() -> None:
    wait_until("containerd", _ready, 30, log=paths.daemon_logs() / "containerd.log")


def _ready() -> bool:
    try:
        sandbox.enter(ctr("version"))
    except ClusterError:
        return False
    return True


def ctr(*arguments: str) -> list[str]:
    return ["ctr", "--address", str(socket()), "--namespace", "k8s.io", *arguments]


def _write_config() -> None:
    state, cni = paths.state(), paths.state() / "cni"
    cni.mkdir(exist_ok=True)
    (cni / "10-pods.conflist").write_text(f"""{{
  "cniVersion": "0.4.0", "name": "pods", "plugins": [{{
    "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": {{"type": "host-local", "dataDir": "{state}/ipam", "ranges": [[{{"subnet": "{paths.POD_NETWORK}"}}]], "routes": [{{"dst": "0.0.0.0/0"}}]}}
  }}]
}}
""")
    (state / "containerd.toml").write_text(f"""version = 2
root = "{data()}/containerd"
state = "{state}/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]  # makes a folder in /opt
[grpc]
  address = "{socket()}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true  # root without CAP_SYS_RESOURCE may not lower it: every sandbox fails with "can't get final child's PID from pipe: EOF"
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "{state}/runc"
""")
