"""What the commands share: arguments, options, and failures as sentences."""

import functools
from collections.abc import Callable
from typing import Annotated, ParamSpec, TypeVar

import pydantic
import typer

from ..core import errors
from . import failures, output

Service = Annotated[str, typer.Argument(metavar="SERVICE", help="The LLMService's name.")]
Lane = Annotated[str | None, typer.Argument(metavar="[LANE]", help="One lane; all where left out.")]
LaneOption = Annotated[str | None, typer.Option("-l", "--lane", metavar="LANE", help="The lane, as an option.")]
Namespace = Annotated[str | None, typer.Option("-n", "--namespace", help="The namespace; the context's own where left out.")]
Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", help="Path of the kubeconfig; KUBECONFIG or ~/.kube/config where left out.")]
Context = Annotated[str | None, typer.Option("--context", help="The kubeconfig's context.")]
Form = Annotated[output.Format, typer.Option("-o", "--output", help="table for people, json or yaml for machines.")]

P = ParamSpec("P")
R = TypeVar("R")


def friendly(function: Callable[P, R]) -> Callable[P, R]:
    """Turn failures into a sentence and an exit code."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except failures.CommandError as error:
            message, code = str(error), error.code
        except errors.FairlaneError as error:
            message, code = str(error), failures.USAGE
        except pydantic.ValidationError as error:
            message, code = f"the status is not this version's; is `fairlane` older than the operator? {error}", failures.NO
        typer.echo(f"error: {message}", err=True)
        raise typer.Exit(code)

    return wrapped
