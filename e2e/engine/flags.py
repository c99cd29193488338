"""The command line of `vllm serve` 0.32: the same options, and argparse's exit code 2 for any other."""
from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("flags_0.32.txt")
_SCALE = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options given; SystemExit(2) names an option or a value that vLLM would not take."""
    return _parser().parse_args([_dashed(argument) for argument in arguments])


def human(text: str) -> int:
    """A whole number as vLLM reads it: `8k` is 8000, `8K` is 8192."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(float(found[1]) * _SCALE.get(found[2], 1))


_TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "json": json.loads, "human": human, "text": str}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vllm serve", usage="vllm serve [model_tag] [options]")
    parser.add_argument("model_tag", nargs="?")
    for line in _DATA.read_text().splitlines():
        if not line.startswith("#"):
            _add(parser, *line.split(" "))
    parser.set_defaults(host="0.0.0.0", port=8000, shutdown_timeout=0)
    return parser


def _add(parser: argparse.ArgumentParser, names: str, kind: str, count: str, choices: str) -> None:
    options = names.split(",")
    if kind == "pair":
        parser.add_argument(*options, action=argparse.BooleanOptionalAction, default=None)
    elif kind == "switch":
        parser.add_argument(*options, action="store_true")
    else:
        parser.add_argument(
            *options, type=_TYPES[kind], nargs=None if count == "-" else count,
            choices=None if choices == "-" else [_TYPES[kind](choice) for choice in choices.split("|")],
        )


def _dashed(argument: str) -> str:
    """vLLM takes `--max_num_seqs` for `--max-num-seqs`."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value
