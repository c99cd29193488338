"""python -m e2e.cluster: the local cluster from the command line."""
from __future__ import annotations

import shlex
import sys

import typer

from . import gobuild, images, local, paths, preflight, vllm_env
from .errors import ClusterError
from .kubectl import environment, kubectl
from .progress import say

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command("preflight")
def check() -> None:
    """Say in one list what this machine lacks."""
    preflight.require()
    say("this machine can run the cluster")


@app.command()
def build() -> None:
    """Make everything that is cached: programs, vLLM, the model, images."""
    if own := paths.user_kubeconfig():
        say(f"KUBECONFIG is {own}: without what only the local cluster needs")
        local.build_for_tests()
    else:
        local.build()


@app.command()
def up() -> None:
    """Start the cluster and leave it running."""
    local.up(owner=None)
    say(f"export KUBECONFIG={paths.kubeconfig()}   (or: eval \"$(python -m e2e.cluster env)\")")


@app.command()
def down(abandoned: bool = typer.Option(False, help="Only where the program that started it is gone.")) -> None:
    """End the cluster; nothing of it is left but the cache."""
    local.down(only_abandoned=abandoned)


@app.command()
def status() -> None:
    """What runs, or what is left of a cluster that did not end well."""
    if not local.running():
        print("no cluster runs" + (f"; left of one: {', '.join(left)}" if (left := local.left()) else ""))
        raise typer.Exit(1)
    print(kubectl("get", "nodes,pods", "--all-namespaces", "--output=wide"))


@app.command("images")
def list_images() -> None:
    """Names and references of the images that the running cluster has."""
    for name, reference in images.loaded().items():
        print(f"{name:10} {reference}")


@app.command()
def load() -> None:
    """Build images whose sources changed and give them to the running cluster."""
    images.load(images.build())


@app.command()
def env() -> None:
    """Lines for the shell that attach to the running cluster."""
    variables = {"FAIRLANE_CLUSTER_KEEP": "1", "KUBECONFIG": str(paths.kubeconfig()), **environment()}
    folders = ":".join(str(module.place) for module in (gobuild.KUBERNETES, gobuild.HELM))
    print("export", *(f"{name}={shlex.quote(value)}" for name, value in variables.items()), f"PATH={shlex.quote(folders)}:$PATH")


@app.command("vllm-python")
def vllm_python() -> None:
    """The interpreter that has the real vLLM, made where it is missing."""
    print(vllm_env.python())


def main() -> None:
    try:
        app()
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


main()
