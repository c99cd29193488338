"""`python -m e2e.scenarios`: all scenarios on one cluster, first those that leave each other alone, at the same time, then the others.

Of these the outages, one by one, run beside real vLLM: they wait while it computes, and it needs the API server only before and after it loads.
"""
from __future__ import annotations

import os
import subprocess
import sys
import time

from e2e.cluster import Cluster
from e2e.scenarios import install

_WORKERS = os.environ.get("FAIRLANE_E2E_WORKERS", "4")


def main(arguments: list[str]) -> int:
    started = time.monotonic()
    with Cluster.running() as cluster:
        install.shared(cluster)
        environment = os.environ | {"FAIRLANE_CLUSTER_KEEP": "1", "FAIRLANE_E2E_INSTALLED": "1", "KUBECONFIG": str(cluster.kubeconfig)}
        possible = "" if cluster.pod_reachable else " and not own_cluster"
        together = _pytest(["-m", f"not disruptive{possible}", "-n", _WORKERS, "--dist", "worksteal", *arguments], environment)
        alone = _pytest(["-m", f"disruptive{possible}", "-n", "2", "--dist", "loadgroup", *arguments], environment)
        if not cluster.pod_reachable:
            install.remove(cluster)
    print(f"scenarios: {time.monotonic() - started:.0f} s")
    return together or alone


def _pytest(arguments: list[str], environment: dict[str, str]) -> int:
    """5 is what pytest says when the selection is empty."""
    code = subprocess.run([sys.executable, "-m", "pytest", "e2e/scenarios", "-v", "--durations=10", *arguments], env=environment, check=False).returncode
    return 0 if code == 5 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
