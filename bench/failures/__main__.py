"""`python -m bench.failures [kind …]`: canaries of real vLLM that fail to load, on the local cluster; prints the table and keeps the recordings."""
from __future__ import annotations

import sys
from collections.abc import Sequence

from e2e.cluster import Cluster, ClusterError
from e2e.scenarios import install
from e2e.scenarios.space import Space

from .. import choosing
from . import kinds, run

_MOST = 20      # seconds from the container's death to the end of the rollout
_NAMESPACE = "fairlane-failures"


def main(arguments: Sequence[str]) -> int:
    """Exit 1 where a failure was read wrongly, too late, or by a user."""
    chosen = choosing.chosen(arguments, kinds.KINDS, "kind")
    if chosen is None:
        return 2
    try:
        with Cluster.running() as cluster:
            install.shared(cluster)
            good = [_one(cluster, kind) for kind in chosen]
    except (ClusterError, AssertionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0 if all(good) else 1


def _one(cluster: Cluster, kind: kinds.Kind) -> bool:
    """Play one kind in a namespace of its own."""
    space = Space(cluster, f"{_NAMESPACE}-{kind.name}")
    cluster.kubectl("delete", "namespace", space.namespace, "--ignore-not-found", timeout=180)   # an interrupted run's, on a cluster that stayed
    cluster.kubectl("create", "namespace", space.namespace)
    try:
        manifest = run.base(cluster)
        space.apply(manifest)
        space.wait_ready(seconds=360)
        row = run.play(space, manifest, kind)
        print(f"{kind.name}: {row['reason']} {row['seconds']} s after the container's death ({row['loading']} s after the change), "
              f"{row['canaryRequests']} canary requests, {row['failedAnswers']} failed answers\n  {row['message']}", flush=True)
        print("\n".join(f"  | {line}" for line in space.fairlane("why", "chat").splitlines() if line.strip()), flush=True)
    finally:
        space.leave()
    return bool(row["reason"] == kind.reason and row["seconds"] <= _MOST and not row["canaryRequests"] and not row["failedAnswers"])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
