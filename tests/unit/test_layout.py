"""Guards of the repository's shape."""

import pathlib
import re

import pytest

from fairlane.api import generated

ROOT = generated.repository()
SOURCES = ("operator", "tests", "e2e", "bench", "tools", "crds", "charts", "examples", "docs")
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".toml", ".tpl", ".sh", ".lua", ".go", ""}


def files() -> list[pathlib.Path]:
    """Return every text file that people wrote, this one apart."""
    below = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    front = [path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")]
    here = pathlib.Path(__file__).resolve()
    return [path for path in [*below, *front] if path.suffix in SUFFIXES and path != here]


def found(pattern: str) -> list[str]:
    """Return where the pattern is."""
    expression = re.compile(pattern)
    texts = {path: path.read_text(encoding="utf-8") for path in files()}
    return [f"{path.relative_to(ROOT)}: {match[0]}" for path, text in texts.items() if (match := expression.search(text))]


def test_operator_is_a_source_root_and_no_package() -> None:
    # A package named operator would shadow the standard library's.
    assert [path.name for path in (ROOT / "operator").iterdir() if path.suffix == ".py"] == []


def test_tests_have_no_packages() -> None:
    # Test modules are imported by their path (--import-mode=importlib).
    assert [str(path) for path in (ROOT / "tests").rglob("__init__.py")] == []


def test_test_modules_have_unique_names() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


@pytest.mark.parametrize("pattern", [
    pytest.param(r"/(work|home/[a-z]+)/(main|shared)\b", id="a path of somebody's machine"),
    pytest.param(r"\b(TODO|FIXME)\b", id="a note to do something later"),
    pytest.param(r"\braise NotImplementedError\b", id="a body that is missing"),
    pytest.param(r"pytest\.mark\.(skip|xfail)\b|pytest\.skip\(", id="a test that does not run"),
    pytest.param(r"(?m)^(<<<<<<<|>>>>>>>) ", id="a conflict"),
])
def test_no_file_has(pattern: str) -> None:
    assert found(pattern) == []


def test_source_files_stay_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "operator").rglob("*.py")}
    assert {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > 300} == {}
