"""The commands for the time before anything is applied: they need no cluster."""

import pathlib
from typing import Annotated

import typer

from ..api import spec as specs
from . import cluster, options, output, profiles
from .plan import command as planning
from .plan import model, reading, shown


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="plan")(options.friendly(plan))
    app.command(name="profiles")(options.friendly(show_profiles))


def plan(
    file: Annotated[str, typer.Argument(metavar="FILE", help="YAML or JSON with one or more LLMServices; - is standard input.")],
    model_config: Annotated[pathlib.Path | None, typer.Option(
        "--model-config", metavar="DIR", help="Folder with the model's config.json, for the memory; the hub is asked where left out.",
    )] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the hub; HF_HUB_OFFLINE=1 does the same.")] = False,
    server: Annotated[bool, typer.Option("--server", help="Compare with the services of the same name that the cluster runs. Reads only.")] = False,
    namespace: options.Namespace = None,
    form: options.Form = output.Format.TABLE,
    detailed: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit with 2 where something would change.")] = False,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = None,
) -> None:
    """Say what a file would do before it is applied: flags and who set each, what needs a canary, GPUs, refusals. Exit codes: 0 clean, 1 would be refused."""
    read = reading.read(file)
    sources = model.Sources(model_config, read.config_maps, cluster.connect(kubeconfig, context) if server else None, offline)
    previews = [planning.previewed(document, sources, namespace) for document in read.services]
    if form is output.Format.TABLE:
        console = output.console()
        for each in previews:
            shown.show(each, console)
    else:
        output.machine([planning.machine(each) for each in previews], form)
    raise typer.Exit(planning.code(previews, detailed))


def show_profiles(
    profile: Annotated[specs.Profile | None, typer.Argument(metavar="[PROFILE]", help="One profile; all where left out.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="GPU", help="Product by its node label, as NVIDIA-L4, or memory, as 24Gi.")] = None,
    parameters: Annotated[str | None, typer.Option("--parameters", metavar="SIZE", help="Size of the model on one GPU, as 8B.")] = None,
    form: options.Form = output.Format.TABLE,
) -> None:
    """List the profiles' flags, and values to start with by GPU and size of the model, each with its reason. Needs no cluster."""
    found = profiles.chosen(profile, gpu, parameters)
    if form is output.Format.TABLE:
        profiles.show(found, output.console())
    else:
        output.machine(profiles.machine(found), form)
