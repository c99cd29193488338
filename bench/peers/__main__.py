"""`python -m bench.peers [trial …]`: the trials, each with its A/A twin, on the local cluster; then the table in docs/judge.md."""
from __future__ import annotations

import sys
from collections.abc import Sequence

from e2e.cluster import Cluster, ClusterError
from e2e.scenarios import install

from .. import choosing
from . import controllers, play, results, trials


def main(arguments: Sequence[str]) -> int:
    """Exit 1 where Fairlane missed a bad change or took back a harmless one."""
    chosen = choosing.chosen(arguments, trials.TRIALS, "trial")
    if chosen is None:
        return 2
    try:
        with Cluster.running() as cluster:
            if not cluster.pod_reachable:
                raise ClusterError("the peers are built here and mounted from this machine: they need the local cluster, without KUBECONFIG")
            install.shared(cluster)
            rows = measured(cluster, chosen)
    except (ClusterError, AssertionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    results.main()
    return 0 if all((row["judges"]["fairlane"]["seconds"] is not None) == (row["kind"] == "change") for row in rows) else 1


def measured(cluster: Cluster, chosen: Sequence[trials.Trial], kinds: Sequence[str] = ("change", "a/a")) -> list[results.Row]:
    """Run them one after the other; each row is kept at once."""
    rows: list[results.Row] = []
    with controllers.installed(cluster):
        for trial in chosen:
            paced: trials.Trial | None = None
            for kind in kinds:
                with play.space(cluster, trial, kind) as space:
                    paced = paced or play.paced(cluster, space, trial, kind)
                    print(f"{trial.name}, {kind}: {paced.exposure}", flush=True)
                    row = play.play(cluster, space, paced, kind)
                play.keep_row(row)
                rows.append(row)
                print("  " + "; ".join(f"{judge}: {said['seconds']} s, {said['requests']} requests" for judge, said in row["judges"].items()), flush=True)
    return rows


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
