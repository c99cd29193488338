"""kubectl on the local cluster."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

from . import paths
from .errors import ClusterError
from .gobuild import KUBERNETES


def kubectl(*arguments: str, input: str | None = None, timeout: float = 60) -> str:  # noqa: A002
    return call(KUBERNETES.program("kubectl"), paths.kubeconfig(), arguments, input, timeout)


def environment() -> dict[str, str]:
    """What the client programs would keep in the home folder goes with the cluster."""
    place = paths.state() / "clients"
    return {"KUBECACHEDIR": f"{place}/kube", **{f"HELM_{name}_HOME": f"{place}/helm" for name in ("CACHE", "CONFIG", "DATA")}}


def call(program: str | Path, kubeconfig: Path, arguments: tuple[str, ...], input: str | None, timeout: float) -> str:  # noqa: A002
    """A client program's standard output; its standard error is in the error."""
    command = [str(program), f"--kubeconfig={kubeconfig}", *arguments]
    words = f"{Path(program).name} {' '.join(arguments)}"
    try:
        done = subprocess.run(command, input=input, capture_output=True, text=True, timeout=timeout, check=False, env=os.environ | environment())
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{words}: no answer in {timeout:.0f} s") from None
    if done.returncode:
        raise ClusterError(f"{words}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout
