"""Run by an interpreter that has vLLM 0.32: a JSON object on standard input, one on standard output.

In: {"lines": [words after `vllm serve`]}. Out: {"errors": [text or null per line], "options": {flag: class of its argparse action},
"read": what tools/flags makes of the parser}.
A line whose model is a folder is also made into the engine's configuration, which checks the values against each other.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
from collections.abc import Callable

os.environ.update(HF_HUB_OFFLINE="1", VLLM_TARGET_DEVICE="cpu", VLLM_NO_USAGE_STATS="1", VLLM_LOGGING_LEVEL="ERROR")


def apart(configure: Callable[[], object]) -> str | None:
    """Make the configuration in a copy of this process: some flags change vLLM's defaults for all that comes after."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "w") as answer:
            json.dump(problem_of(configure), answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    problem: str | None = json.loads(text) if text else "the process died"
    return problem


def problem_of(ask: Callable[[], object]) -> str | None:
    """Return how it fails; argparse leaves by SystemExit where it does not know a flag."""
    try:
        ask()
    except (SystemExit, Exception) as problem:
        return repr(problem)
    return None


def main() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve", exit_on_error=False))

    def error(words: list[str]) -> str | None:
        parsed = argparse.Namespace()

        def parse() -> None:
            parser.parse_args(words, parsed)
            parsed.model = parsed.model_tag
            validate_parsed_serve_args(parsed)

        def configure() -> object:
            return AsyncEngineArgs.from_cli_args(parsed).create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)

        return problem_of(parse) or (apart(configure) if os.path.isdir(parsed.model) else None)

    lines = json.load(sys.stdin)["lines"]
    errors = [error(words) for words in lines]
    options = {option: type(action).__name__ for action in parser._actions for option in action.option_strings}
    sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools/flags"))
    import parser_child

    json.dump({"errors": errors, "options": options, "read": parser_child.main()}, out)


with contextlib.ExitStack() as stack:
    out = os.fdopen(os.dup(1), "w")
    stack.enter_context(out)
    os.dup2(2, 1)   # what vLLM prints must not get between the answers
    main()
