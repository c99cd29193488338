"""The options of a made-up vLLM, written in each of the ways that real versions are written in."""

import pathlib

import pytest
from tools.flags import reading, sources

SERVE = """
from vllm.entrypoints.args import make_arg_parser, show_filtered_argument_or_group_from_help
class ServeSubcommand:
    def subparser_init(self, subparsers):
        serve_parser = subparsers.add_parser(self.name)
        serve_parser = make_arg_parser(serve_parser)
        show_filtered_argument_or_group_from_help(serve_parser)
        return serve_parser
"""
ARGS = """
from dataclasses import field
from typing import ClassVar
from vllm.config import config
from vllm.engine.arg_utils import AsyncEngineArgs
@config
class BaseArgs:
    log_level: str = "info"
    lora_modules: list[str] | None = None
    allowed_origins: list[str] = field(default_factory=lambda: ["*"])
    counted: ClassVar[int] = 0
    @classmethod
    def prepared(cls, frontend_kwargs):
        frontend_kwargs["middleware"]["action"] = "append"
        del frontend_kwargs["allowed_origins"]["nargs"]
        frontend_kwargs["allowed_origins"]["type"] = json.loads
    @classmethod
    def add_cli_args(cls, parser):
        from vllm.engine.arg_utils import get_kwargs
        frontend_kwargs = get_kwargs(cls)
        cls.prepared(frontend_kwargs)
        group = parser.add_argument_group()
        for key, value in frontend_kwargs.items():
            group.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser
@config
class FrontArgs(BaseArgs):
    port: int = 8000
    middleware: list[str] = field(default_factory=list)
    quiet: bool = False
def make_arg_parser(parser):
    parser.add_argument("model_tag", type=str, nargs="?")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--api_servers", "-asc", type=int)
    parser = FrontArgs.add_cli_args(parser)
    parser = AsyncEngineArgs.add_cli_args(parser)
    return parser
"""
ENGINE = """
from vllm.config import CacheConfig, SchedulerConfig
OLD_MESSAGE_DEPRECATION = "--old-file is deprecated"
class EngineArgs:
    eager: bool = SchedulerConfig.eager
    @staticmethod
    def add_cli_args(parser):
        cache_kwargs = get_kwargs(CacheConfig)
        group = parser.add_argument_group()
        group.add_argument("--memory", "--device-memory", **cache_kwargs["memory"])
        group.add_argument("--kv-dtype", **cache_kwargs["dtype"])
        group.add_argument("--prefix-caching", **{**cache_kwargs["prefix_caching"], "default": None})
        group.add_argument("--eager", action=argparse.BooleanOptionalAction, default=EngineArgs.eager)
        group.add_argument("--nested", **cache_kwargs["nested"])
        group.add_argument("--overrides", **cache_kwargs["overrides"])
        group.add_argument("--token", **cache_kwargs["token"])
        group.add_argument("--scales", **cache_kwargs["scales"])
        backend_kwargs = cache_kwargs["backend"]
        backend_kwargs["type"] = lambda text: text.lower()
        group.add_argument("--backend", **backend_kwargs)
        sizes_kwargs = get_kwargs(SchedulerConfig)["sizes"]
        group.add_argument("--sizes", **sizes_kwargs)
        group.add_argument("--max-len", type=optional_type(human_readable_int))
        group.add_argument("--chunked", action=StoreBoolean)
        group.add_argument("--old-file", help=OLD_MESSAGE_DEPRECATION)
        group.add_argument("--old-switch", action="store_true", deprecated=True)
        group.add_argument("--old-text", type=str, help="[DEPRECATED] not used")
        for arg, kind in [("--guided-a", str), ("--guided-b", bool)]:
            group.add_argument(arg, type=kind, deprecated=True)
        return parser
class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser, async_args_only=False):
        if not async_args_only:
            parser = EngineArgs.add_cli_args(parser)
        parser.add_argument("--log-requests", action=argparse.BooleanOptionalAction, default=True)
        current_platform.pre_register_and_update(parser)
        return parser
"""
CONFIG = """
from typing import Literal, Optional, Union
from .shared import DType
@dataclass
class Nested:
    mode: int = 0
@config
class SchedulerConfig:
    eager: bool = False
    sizes: tuple[int, ...] = ()
@config
class CacheConfig:
    memory: float = Field(default=0.9, gt=0, le=1)
    dtype: DType = "auto"
    prefix_caching: bool = True
    nested: Nested | None = None
    overrides: Union[dict[str, int], str] = ""
    token: bool | str | None = None
    scales: Optional[int] = None
    \"\"\"Deprecated: it has no effect.\"\"\"
    backend: "Literal['a', 'b']" = "a"
"""
FILES = {
    "entrypoints/cli/serve.py": SERVE, "entrypoints/args.py": ARGS, "engine/arg_utils.py": ENGINE, "config/__init__.py": CONFIG,
    "config/shared.py": 'DType = Literal["auto", "fp8"]',
}


def wheel(folder: pathlib.Path, files: dict[str, str]) -> sources.Sources:
    for name, text in files.items():
        path = folder / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return sources.Sources(folder)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, reading.Option]:
    return reading.options(wheel(tmp_path_factory.mktemp("wheel"), FILES))


@pytest.mark.parametrize(("name", "kind"), [
    pytest.param("headless", "switch", id="a switch"),
    pytest.param("api-servers", "int", id="a name with underscores, a short one beside it"),
    pytest.param("port", "int", id="a field of a class whose fields are all options"),
    pytest.param("log-level", "any", id="a field of its base"),
    pytest.param("lora-modules", "list", id="a list that may be missing"),
    pytest.param("allowed-origins", "any", id="a list that is read as JSON"),
    pytest.param("middleware", "repeat", id="once per value"),
    pytest.param("quiet", "switch", id="a boolean that is off"),
    pytest.param("memory", "float", id="a number from a field with limits"),
    pytest.param("kv-dtype", "any", id="choices by another name, from another module"),
    pytest.param("prefix-caching", "bool", id="a boolean whose default is replaced"),
    pytest.param("eager", "switch", id="a boolean whose default is another class's"),
    pytest.param("log-requests", "bool", id="a boolean that is on"),
    pytest.param("nested", "any", id="a dataclass"),
    pytest.param("overrides", "any", id="JSON or text"),
    pytest.param("token", "any", id="text or nothing"),
    pytest.param("backend", "any", id="a field's keywords under a name of their own"),
    pytest.param("sizes", "list", id="the keywords of one field of another class"),
    pytest.param("max-len", "human", id="a human number"),
    pytest.param("chunked", "truth", id="a boolean that is written as a word"),
    pytest.param("guided-a", "any", id="one of a loop over names"),
])
def test_an_option_is_found_with_its_kind(options: dict[str, reading.Option], name: str, kind: str) -> None:
    assert kind == options[name].kind


def test_limits_are_those_of_the_fields(options: dict[str, reading.Option]) -> None:
    assert {option.name: option.limits for option in options.values() if option.limits} == {"memory": (("above", 0), ("most", 1))}


def test_nothing_else_is_found(options: dict[str, reading.Option]) -> None:
    tested = {parameter.values[0] for parameter in test_an_option_is_found_with_its_kind.pytestmark[0].args[1]}   # type: ignore[attr-defined]
    assert tested | {"scales", "guided-b", "old-file", "old-switch", "old-text"} == set(options)


def test_booleans_with_a_no_form_are_told_from_switches(options: dict[str, reading.Option]) -> None:
    assert {"quiet", "prefix-caching", "eager", "log-requests"} == {option.name for option in options.values() if option.negated}


def test_other_long_names_belong_to_the_first(options: dict[str, reading.Option]) -> None:
    assert {option.name: option.also for option in options.values() if option.also} == {"memory": ("device-memory",)}


def test_deprecated_options_are_found_however_it_is_said(options: dict[str, reading.Option]) -> None:
    assert {"old-file", "old-switch", "old-text", "guided-a", "guided-b", "scales"} == {option.name for option in options.values() if option.deprecated}


@pytest.mark.parametrize(("file", "old", "new", "problem"), [
    pytest.param("engine/arg_utils.py", 'cache_kwargs["scales"]', 'made_elsewhere["scales"]', "keywords of unknown origin", id="unknown keywords"),
    pytest.param("engine/arg_utils.py", 'cache_kwargs["scales"]', 'cache_kwargs["gone"]', "CacheConfig has no field gone", id="a field that is not there"),
    pytest.param("engine/arg_utils.py", '"--old-file"', "NAME", "an option without a name", id="a name that is not written out"),
    pytest.param("engine/arg_utils.py", "get_kwargs(CacheConfig)", "get_kwargs(Elsewhere)", "fields of an unknown class", id="a class that is not there"),
    pytest.param("entrypoints/args.py", "FrontArgs.add_cli_args(parser)", "plugins.extend(parser)", "leads nowhere", id="a parser handed on out of sight"),
    pytest.param("entrypoints/cli/serve.py", "class ServeSubcommand", "class Other", "no vllm.entrypoints.cli.serve", id="another way in"),
])
def test_what_cannot_be_followed_is_an_error_and_no_gap(tmp_path: pathlib.Path, file: str, old: str, new: str, problem: str) -> None:
    files = FILES | {file: FILES[file].replace(old, new)}
    assert files != FILES
    with pytest.raises(sources.Unreadable, match=problem):
        reading.options(wheel(tmp_path, files))
