"""`fairlane probe`: measure an endpoint, save the run, compare two."""

import dataclasses
import datetime
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import rich.console
import typer
import typer.core
from rich import status

from .. import failures, output
from . import config as configs
from . import load, report, results, stats


class _Default(typer.core.TyperGroup):
    """`probe URL` is `probe run URL`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` in front of anything that is neither a command nor a question for help."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Default,
    no_args_is_help=True,
    help="Measure an OpenAI endpoint: [bold]fairlane probe URL[/] (options: fairlane probe run --help). Or compare two saved runs. " + failures.EXIT_CODES,
)


@app.command()
def run(
    url: Annotated[str, typer.Argument(metavar="URL", help="Base address (with or without /v1), a lane's path, or that of the chat completions.")],
    model: Annotated[str, typer.Option("-m", "--model", help="The model's name.")] = "default",
    total: Annotated[int, typer.Option("--total", help="Closed loop: requests in all.")] = 100,
    concurrency: Annotated[int, typer.Option("-c", "--concurrency", help="Closed loop: clients, each with one request at a time.")] = 4,
    rate: Annotated[float | None, typer.Option("--rate", help="Open loop: requests per second, Poisson; latencies count from when a request was due.")] = None,
    duration: Annotated[float | None, typer.Option("--duration", help="Seconds of sending: the open loop's length, a limit of the closed loop.")] = None,
    max_in_flight: Annotated[int, typer.Option("--max-in-flight", help="Open loop: requests at a time; what is due beyond waits, and its wait counts.")] = 1000,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for one request, retries included.")] = 120,
    prompts: Annotated[Path | None, typer.Option("--prompts", help="File of prompts: a text a line, or JSON lines with `prompt` or `messages`.")] = None,
    trace: Annotated[Path | None, typer.Option("--trace", help="CSV with the columns ContextTokens, GeneratedTokens: prompts of these sizes.")] = None,
    prompt_tokens: Annotated[int, typer.Option("--prompt-tokens", help="Size of the prompts without a file.")] = 128,
    output_tokens: Annotated[int, typer.Option("--output-tokens", help="max_tokens, where the source says nothing.")] = 64,
    max_prompt_tokens: Annotated[int | None, typer.Option("--max-prompt-tokens", help="Leave longer rows of the trace out.")] = None,
    max_output_tokens: Annotated[int | None, typer.Option("--max-output-tokens", help="Never ask for more than this, whatever the source says.")] = None,
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Streamed answers; without, only E2E is measured.")] = True,
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos", help="vLLM only: always write all of max_tokens.")] = False,
    header: Annotated[list[str] | None, typer.Option("-H", "--header", help="A header, as `name: value`; may be given again.")] = None,
    api_key: Annotated[str | None, typer.Option("--api-key", envvar="OPENAI_API_KEY", help="Bearer token.", show_envvar=True)] = None,
    retry_429: Annotated[bool, typer.Option("--retry-429", help="Honour Retry-After: wait and send again until the timeout.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of arrivals and prompts.")] = 0,
    save: Annotated[Path | None, typer.Option("--save", help="Write the run as JSON, to compare.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw histograms.")] = False,
    form: Annotated[output.Format, typer.Option("-o", "--output", help="table for people, json or yaml for machines.")] = output.Format.TABLE,
) -> None:
    """Send bounded load and print p50, p95, p99 and max of TTFT, ITL and E2E, and the errors by kind. Ends 0 also where requests failed."""
    asked = configs.Config(
        url, model, total, concurrency, rate, duration, max_in_flight, timeout, prompts, trace, prompt_tokens, output_tokens, max_prompt_tokens,
        max_output_tokens, stream, ignore_eos, _headers(header or [], api_key), retry_429, seed,
    )  # fmt: skip
    made = _guarded(asked)
    if save:
        _save(made, save)
    if form is output.Format.TABLE:
        report.show(output.console(), made, plot)
    else:
        output.machine(dataclasses.asdict(stats.summarise(made.samples, made.seconds)), form)


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE.json", help="A saved run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER.json", help="Another.")],
    metric: Annotated[str | None, typer.Option("--metric", help="ttft, itl or e2e; ttft where both runs streamed, else e2e.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw both.")] = False,
    form: Annotated[output.Format, typer.Option("-o", "--output", help="table for people, json or yaml for machines.")] = output.Format.TABLE,
) -> None:
    """Say whether the tail narrowed: p99 and p95 down, p50 not up by more than a third, errors not up. Ends 0 if it did, 1 if not."""
    try:
        first, second = results.load(before), results.load(after)
        chosen = metric or ("ttft" if all(stats.values(run.samples, "ttft") for run in (first, second)) else "e2e")
        if chosen not in stats.METRICS:
            raise configs.BadConfig(f"--metric {chosen}: one of {', '.join(stats.METRICS)}")
        comparison = stats.compare(first, second, chosen)
    except (configs.BadConfig, ValueError) as error:
        raise _usage(error) from error
    if form is output.Format.TABLE:
        report.show_comparison(output.console(), first, second, comparison, plot)
    else:
        output.machine({**dataclasses.asdict(comparison), "narrowed": comparison.narrowed}, form)
    raise typer.Exit(0 if comparison.narrowed else failures.NO)


def _guarded(asked: configs.Config) -> results.Run:
    """The run with a line of progress; what is wrong with the request for it ends in a sentence, Ctrl-C in what there is so far."""
    console = output.console(stderr=True)
    samples: list[results.Sample] = []
    began, start = datetime.datetime.now(datetime.UTC), time.monotonic()
    try:
        if not sys.stderr.isatty():
            return load.run(asked, _plain(console), samples.append)
        with status.Status("starting", console=console) as line:
            return load.run(asked, lambda progress: line.update(_line(progress)), samples.append)
    except configs.BadConfig as error:
        raise _usage(error) from error
    except KeyboardInterrupt:
        console.print("stopped; the numbers are of what was done")
        return results.Run(began.strftime("%Y-%m-%dT%H:%M:%SZ"), time.monotonic() - start, results.described(asked), tuple(samples))


def _plain(console: rich.console.Console) -> load.OnProgress:
    """A line every ten seconds."""
    said = [0.0]

    def show(progress: load.Progress) -> None:
        if progress.seconds - said[0] >= 10:
            said[0] = progress.seconds
            console.print(_line(progress))

    return show


def _line(progress: load.Progress) -> str:
    of = f" of {progress.expected}" if progress.expected is not None else ""
    return f"{progress.seconds:.0f} s: {progress.done}{of} done, {progress.failed} failed, {progress.in_flight} in flight"


def _headers(lines: list[str], api_key: str | None) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise _usage(configs.BadConfig(f"-H {line!r}: write it as `name: value`"))
        headers[name.strip()] = value.strip()
    return headers


def _save(made: results.Run, path: Path) -> None:
    try:
        made.save(path)
    except OSError as error:
        raise _usage(error) from error


def _usage(error: Exception) -> typer.Exit:
    typer.echo(f"error: {error}", err=True)
    return typer.Exit(failures.USAGE)
