"""CoreDNS on the node's address. It runs beside the other daemons, not as a pod: one image and one start-up less."""
from __future__ import annotations

from . import paths, sandbox
from .gobuild import COREDNS

PROGRAM = COREDNS.program("coredns")


def start() -> None:
    (paths.state() / "Corefile").write_text(f""".:53 {{
    bind {paths.NODE_IP}
    errors
    ready {paths.NODE_IP}:8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {paths.kubeconfig()} local
        pods insecure
    }}
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
""")
    sandbox.start([PROGRAM, "-conf", paths.state() / "Corefile"], paths.daemon_logs() / "coredns.log")
