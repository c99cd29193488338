"""`fairlane`, also `kubectl fairlane`: what a service does, why, and what it should do next."""

import datetime
import importlib.metadata
from typing import Annotated, Any

import typer

from . import before, cluster, failures, ordering, output, page, telling, trying, views, why
from .options import Context, Form, Kubeconfig, Lane, LaneOption, Namespace, Service, friendly
from .probe import command as probing

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Lanes, canaries and rollbacks of LLM services. " + failures.EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
before.register(app)
app.add_typer(probing.app, name="probe")

@app.command()
@friendly
def status(
    service: Annotated[str | None, typer.Argument(metavar="[SERVICE]", help="One service in full; all where left out.")] = None,
    namespace: Namespace = None,
    all_namespaces: Annotated[bool, typer.Option("-A", "--all-namespaces", help="Services of all namespaces.")] = False,
    form: Form = output.Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the services, or one service's conditions and lanes."""
    where = cluster.connect(kubeconfig, context)
    now = datetime.datetime.now(datetime.UTC)
    console = output.console()
    if service is None:
        found = where.services(None if all_namespaces else namespace or where.namespace)
        if form is not output.Format.TABLE:
            output.machine([_machine(item) for item in found], form)
        elif found:
            console.print(views.services(found, now, all_namespaces))
        else:
            typer.echo(f"no services in {'any namespace' if all_namespaces else 'namespace ' + (namespace or where.namespace)}", err=True)
        return
    one = where.get(namespace or where.namespace, service)
    if form is not output.Format.TABLE:
        output.machine(_machine(one), form)
        return
    console.print(views.services([one], now, False), "", views.conditions(one), "", views.lanes(one, now), sep="\n")
    for sentence in views.messages(one):
        console.print(sentence)


@app.command(name="why")
@friendly
def explain(
    service: Service,
    lane: Lane = None,
    lane_option: LaneOption = None,
    namespace: Namespace = None,
    form: Form = output.Format.TABLE,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures instead; - is standard output.")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say why a lane's rollout stands or ended as it did: the decisive metric, by how much, on how many requests, how sure."""
    if html is not None and form is not output.Format.TABLE:
        raise failures.CommandError(f"--html {html} and -o {form} exclude each other: leave one out", failures.USAGE)
    where = cluster.connect(kubeconfig, context)
    answers = why.answers(where.get(namespace or where.namespace, service), lane or lane_option)
    if html is not None:
        output.write(page.render(service, answers), html)
        return
    if form is not output.Format.TABLE:
        output.machine([answer.dump() for answer in answers], form)
        return
    console = output.console()
    for answer in answers:
        telling.show(answer, console)


@app.command()
@friendly
def history(
    service: Service,
    lane: Lane = None,
    lane_option: LaneOption = None,
    namespace: Namespace = None,
    form: Form = output.Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List the last rollouts, how they ended and why."""
    where = cluster.connect(kubeconfig, context)
    one = where.get(namespace or where.namespace, service)
    ended = views.records(one, lane or lane_option)
    if form is not output.Format.TABLE:
        output.machine([record.dump() for record in ended], form)
    elif ended:
        output.console().print(views.history(ended))
    else:
        typer.echo("no rollout has ended yet", err=True)


def _ordering(name: str, text: str) -> None:
    """Add the command that sends one order."""

    @app.command(name=name, help=text)
    @friendly
    def run(
        service: Service,
        lane: Annotated[str | None, typer.Argument(metavar="[LANE]", help="The lane; where only one can be meant it may be left out.")] = None,
        lane_option: LaneOption = None,
        namespace: Namespace = None,
        revision: Annotated[str | None, typer.Option("--revision", help="The revision it is for; the canary where left out.")] = None,
        wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the operator has handled it.")] = True,
        timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait.")] = 60,
        yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
        kubeconfig: Kubeconfig = None,
        context: Context = None,
    ) -> None:
        where = cluster.connect(kubeconfig, context)
        asked = ordering.Asked(name, service, lane or lane_option, namespace or where.namespace, revision, wait, timeout, yes)
        ordering.run(where, asked, ordering.REAL)


for _name, _text in (
    ("pause", "Hold a lane's rollout where it stands; its weight stays."),
    ("resume", "Go on with a paused rollout."),
    ("promote", "Let the canary take the lane now. Where it still waits for a GPU it replaces the stable in place, which costs capacity while it loads."),
    ("abort", "End the rollout: weight 0 at once, the canary deleted, its revision rejected until `retry`."),
    ("retry", "Let a rejected revision be tried again."),
):
    _ordering(_name, _text)


@app.command()
@friendly
def trial(
    service: Service,
    lane: Annotated[str | None, typer.Argument(metavar="[LANE]", help="The lane; where there is only one it may be left out.")] = None,
    lane_option: LaneOption = None,
    namespace: Namespace = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Stay until the trial has ended, then say what the judge would have done.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the operator's answer.")] = 60,
    limit: Annotated[float, typer.Option("--limit", min=1, help="With --wait: seconds to wait for the trial's end.")] = 6 * 3600,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Canary the unchanged revision under a new name, to see what the judge makes of your traffic. It costs a canary's GPUs and is never promoted."""
    where = cluster.connect(kubeconfig, context)
    asked = ordering.Asked("trial", service, lane or lane_option, namespace or where.namespace, None, True, timeout, True)
    before = trying.send(where, asked, ordering.REAL)
    if wait:
        record, serves = trying.end(where, asked, before, limit, ordering.REAL)
        telling.show(why.ended(record, serves), output.console())
        if trying.alarmed(record):
            raise typer.Exit(failures.NO)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(importlib.metadata.version("fairlane"))


def _machine(service: dict[str, Any]) -> dict[str, Any]:
    meta = service["metadata"]
    return {"name": meta["name"], "namespace": meta["namespace"], "status": service.get("status") or {}}
