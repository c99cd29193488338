"""Prompts from every source."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli.probe import config, prompts


def first(count: int, **options: Any) -> list[prompts.Prompt]:
    return list(itertools.islice(prompts.stream(config.Config("http://x", **options)), count))


def test_a_sized_prompt_has_four_bytes_a_token() -> None:
    assert [len(prompt.text) for prompt in first(3, prompt_tokens=50)] == [199, 199, 199]


def test_the_same_seed_makes_the_same_prompts_and_no_two_alike() -> None:
    assert first(5, seed=7) == first(5, seed=7)
    assert len({prompt.text[:20] for prompt in first(5, seed=7)}) == 5
    assert first(5, seed=7) != first(5, seed=8)


def test_a_file_is_read_line_by_line_and_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    path.write_text('Why?\n\n"quoted"\n{"prompt": "How?", "max_tokens": 3}\n{"messages": [{"role": "user", "content": "Hi"}]}\n"Hello," she said\n')
    assert first(6, prompts=path, output_tokens=9) == [
        prompts.Prompt("Why?", 9),
        prompts.Prompt("quoted", 9),
        prompts.Prompt("How?", 3),
        prompts.Prompt("", 9, ({"role": "user", "content": "Hi"},)),
        prompts.Prompt('"Hello," she said', 9),
        prompts.Prompt("Why?", 9),
    ]


TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n2023-11-16 18:15:50.99,30,0\n"


def test_a_trace_gives_sizes(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    assert [(len(prompt.text) // 4 + 1, prompt.output_tokens) for prompt in first(3, trace=path)] == [(374, 44), (30, 1), (374, 44)]
    assert [prompt.output_tokens for prompt in first(2, trace=path, max_prompt_tokens=100)] == [1, 1]
    assert [prompt.output_tokens for prompt in first(2, trace=path, max_output_tokens=10)] == [10, 1]


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        pytest.param("prompts", "\n", "the file holds no prompt", id="an empty file"),
        pytest.param("prompts", '{"prompt": 1}', "line 1: neither `prompt` nor `messages`", id="an object without a prompt"),
        pytest.param("prompts", "{", "line 1: no JSON", id="broken JSON"),
        pytest.param("trace", "a,b\n1,2\n", "columns ContextTokens and GeneratedTokens", id="other columns"),
        pytest.param("trace", "ContextTokens,GeneratedTokens\nx,2\n", "line 2: columns", id="no number"),
        pytest.param("trace", "ContextTokens,GeneratedTokens\n", "no row is left", id="no rows"),
        pytest.param("trace", None, "No such file", id="no file"),
    ],
)
def test_a_file_that_holds_none_is_named(tmp_path: Path, option: str, content: str | None, message: str) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_text(content)
    with pytest.raises(config.BadConfig) as raised:
        first(1, **{option: path})
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"url": "localhost:8000"}, "url 'localhost:8000': write it as http://host:port", id="no scheme"),
        pytest.param({"url": "http://a:99999"}, "url 'http://a:99999': write it as http://host:port", id="no port"),
        pytest.param({"rate": 1.0}, "--rate needs --duration: without it the run would have no end", id="an open loop without an end"),
        pytest.param({"rate": 1e6, "duration": 100.0}, "--rate times --duration is 100000000 requests: at most 1000000", id="too many arrivals"),
        pytest.param({"total": 0}, "--total 0: from 1 to 1000000", id="no requests"),
        pytest.param({"concurrency": 0}, "--concurrency 0: from 1 to 10000", id="no clients"),
        pytest.param({"duration": -1.0}, "--duration -1.0: above 0 and at most a day", id="negative time"),
        pytest.param({"prompts": Path("a"), "trace": Path("b")}, "--prompts and --trace exclude each other", id="two sources"),
    ],
)
def test_a_run_that_cannot_be_is_refused_by_its_option(options: dict[str, Any], message: str) -> None:
    with pytest.raises(config.BadConfig) as raised:
        config.Config(**{"url": "http://x", **options}).check()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("http://x:1", "http://x:1/v1/chat/completions", id="a host"),
        pytest.param("http://x:1/v1/", "http://x:1/v1/chat/completions", id="with the version"),
        pytest.param("http://x:1/lanes/chat", "http://x:1/lanes/chat/v1/chat/completions", id="a lane's path"),
        pytest.param("http://x:1/v1/chat/completions", "http://x:1/v1/chat/completions", id="the path itself"),
    ],
)
def test_the_endpoint_follows_from_the_address(url: str, expected: str) -> None:
    assert config.Config(url).endpoint == expected
