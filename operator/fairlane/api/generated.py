"""Files of the repository that are made from the models: written, or with `--check` compared."""

import argparse
import pathlib
import sys
from collections.abc import Mapping


def repository() -> pathlib.Path:
    """Return the root of the checkout that this package is part of."""
    return pathlib.Path(__file__).parents[3]


def stale(files: Mapping[str, str], root: pathlib.Path) -> list[str]:
    """Return the paths whose file is missing or differs."""
    return [path for path, text in files.items() if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text]


def write(files: Mapping[str, str], root: pathlib.Path) -> None:
    """Write every file."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def main(files: Mapping[str, str]) -> None:
    """Write the files; with --check exit 1 and name those that are out of step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="only compare, exit 1 where a file is out of step")
    if not parser.parse_args().check:
        write(files, repository())
    elif out_of_step := stale(files, repository()):
        sys.exit(f"out of step with operator/fairlane/api: {', '.join(out_of_step)}; run `make generate`")
