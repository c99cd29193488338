"""Run by an interpreter that has vLLM: its version and the options of `vllm serve` with kind and choices, as JSON on standard output."""

import argparse
import contextlib
import importlib
import inspect
import json
import os
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", VLLM_TARGET_DEVICE="cpu", VLLM_NO_USAGE_STATS="1", VLLM_LOGGING_LEVEL="ERROR")
_HOMES = ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")   # of 0.33, 0.29 and before


def main() -> dict[str, Any]:
    """Return {"version": …, "options": {name: {"kind": …, "choices": […]}}}."""
    import vllm
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = _home().make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    options: dict[str, dict[str, Any]] = {}
    for action in parser._actions:
        names = [word[2:] for word in action.option_strings if word.startswith("--") and not word.startswith("--no-")]
        for name in names if names != ["help"] else ():
            options[name] = {"kind": _kind(action)} | _choices(action)
    return {"version": vllm.__version__.partition("+")[0], "options": dict(sorted(options.items()))}


def _home() -> Any:
    for name in _HOMES:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    raise SystemExit("this vLLM has its arguments in a module that is not known here")


def _choices(action: argparse.Action) -> dict[str, list[str]]:
    choices = [str(choice) for choice in action.choices or () if choice is not None]
    return {"choices": list(dict.fromkeys(choices))} if choices else {}


def _kind(action: argparse.Action) -> str:
    if isinstance(action, argparse.BooleanOptionalAction):
        return "switch" if action.default is False else "bool"
    if action.nargs == 0:
        return "switch"
    if type(action).__name__ == "_AppendAction":
        return "repeat"
    if action.nargs in ("+", "*"):
        return "list"
    reader = _reader(action.type)
    if action.choices or reader in (None, str):
        return "any"
    return "human" if "human_readable" in getattr(reader, "__name__", "") else {int: "int", float: "float"}.get(reader, "any")


def _reader(reader: Any) -> Any:
    """What reads the word, inside what only lets None through."""
    while getattr(reader, "__name__", "") in ("_optional_type", "_parse_type"):
        inner = inspect.getclosurevars(reader).nonlocals.get("return_type")
        if inner is None:
            return None
        reader = inner
    return reader


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)   # what vLLM prints must not get into the answer
        json.dump(main(), out)
