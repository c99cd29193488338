"""Run by an interpreter that has vLLM 0.32: a JSON object on standard input, one on standard output.

In: {"lines": [words after `vllm serve`]}. Out: {"errors": [text or null per line], "options": {flag: class of its argparse action}}.
A line whose model is a folder is also made into the engine's configuration, which checks the values against each other.
"""

import contextlib
import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", VLLM_TARGET_DEVICE="cpu", VLLM_NO_USAGE_STATS="1", VLLM_LOGGING_LEVEL="ERROR")


def main() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve", exit_on_error=False))

    def error(words: list[str]) -> str | None:
        try:
            parsed = parser.parse_args(words)
            parsed.model = parsed.model_tag
            validate_parsed_serve_args(parsed)
            if os.path.isdir(parsed.model):
                AsyncEngineArgs.from_cli_args(parsed).create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
        except (SystemExit, Exception) as problem:  # argparse leaves by SystemExit where it does not know a flag
            return repr(problem)
        return None

    lines = json.load(sys.stdin)["lines"]
    errors = [error(words) for words in lines]
    options = {option: type(action).__name__ for action in parser._actions for option in action.option_strings}
    json.dump({"errors": errors, "options": options}, out)


with contextlib.ExitStack() as stack:
    out = os.fdopen(os.dup(1), "w")
    stack.enter_context(out)
    os.dup2(2, 1)   # what vLLM prints must not get between the answers
    main()
