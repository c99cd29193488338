"""What an engine's end means: every pattern on its own text, in noise and cut; what wins over what; no text without an answer."""

import pathlib
import re
import string
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from fairlane.core.engine import enginelog, failures
from fairlane.core.rollout import reasons

TEXTS = yaml.safe_load((pathlib.Path(__file__).parent / "data" / "failure_texts.yaml").read_text(encoding="utf-8"))
PATTERNS = failures.patterns()
EXAMPLES = [pytest.param(pattern, id=f"{pattern.kind}: {pattern.sentence}") for pattern in PATTERNS if pattern.example]
every_text = pytest.mark.parametrize("case", [pytest.param(case, id=f"{case['kind']}: {case['title']}") for case in TEXTS])
TAIL = 2048   # bytes of a log that Kubernetes keeps

FRAMES = [
    ("vllm/entrypoints/cli/main.py", 73, "main", "args.dispatch_function(args)"),
    ("vllm/entrypoints/cli/serve.py", 111, "cmd", "uvloop.run(run_server(args))"),
    ("uvloop/__init__.py", 96, "run", "return __asyncio.run("),
    ("vllm/entrypoints/openai/api_server.py", 471, "run_server", "await run_server_worker(listen_address, sock, args, **uvicorn_kwargs)"),
    ("vllm/entrypoints/openai/api_server.py", 490, "run_server_worker", "async with build_async_engine_client("),
    ("vllm/entrypoints/openai/api_server.py", 96, "build_async_engine_client", "async with build_async_engine_client_from_engine_args("),
    ("vllm/entrypoints/openai/api_server.py", 137, "build_async_engine_client_from_engine_args", "async_llm = AsyncLLM.from_vllm_config("),
    ("vllm/v1/engine/async_llm.py", 225, "from_vllm_config", "return cls("),
    ("vllm/v1/engine/async_llm.py", 154, "__init__", "self.engine_core = EngineCoreClient.make_async_mp_client("),
    ("vllm/v1/engine/core_client.py", 127, "make_async_mp_client", "return AsyncMPClient(*client_args)"),
    ("vllm/v1/engine/core_client.py", 911, "__init__", "super().__init__("),
    ("vllm/v1/engine/core_client.py", 569, "__init__", "with launch_core_engines("),
    ("vllm/v1/engine/utils.py", 1102, "launch_core_engines", "wait_for_engine_startup("),
    ("vllm/v1/engine/utils.py", 1427, "wait_for_engine_startup", "raise RuntimeError("),
]
CONSEQUENCE = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"


def classify(text: str, **known: Any) -> failures.Failure:
    """What a container of lane chat that ended with exit code 1 means."""
    return failures.classify(text, **{"reason": "Error", "exit_code": 1, "lane": "chat"} | known)


def traceback(words: str, prefix: str) -> str:
    """The words as the last line of a traceback through vLLM, every line with the prefix."""
    lines = ["Traceback (most recent call last):"]
    for path, line, function, code in FRAMES:
        lines += [f'  File "/usr/local/lib/python3.12/dist-packages/{path}", line {line}, in {function}', f"    {code}", "    ^^^^^^^^^^^^^^^^^^^^^^^"]
    return "".join(f"{prefix}{line}\n" for line in [*lines, *words.splitlines()])


def from_the_engine_process(words: str) -> str:
    """What vLLM prints where its engine process fails: the cause, then the consequence in the server that waited for it."""
    cause = traceback(words, "(EngineCore_DP0 pid=68) ERROR 11-29 12:01:07 [core.py:708] ")
    again = traceback(words, "(EngineCore_DP0 pid=68) ")
    return f"{cause}(EngineCore_DP0 pid=68) Process EngineCore_DP0:\n{again}{traceback(CONSEQUENCE, '(APIServer pid=1) ')}"


@every_text
def test_a_text_has_its_kind_sentence_and_remedy(case: dict[str, Any]) -> None:
    found = classify(case["text"], reason=case.get("ended", "Error"), exit_code=case.get("code", 1))
    assert (case["kind"], case["sentence"], case["remedy"]) == (found.kind, found.sentence, found.remedy)


def test_every_kind_has_a_text() -> None:
    assert {pattern.kind for pattern in PATTERNS} - {case["kind"] for case in TEXTS} == set()


def test_every_pattern_that_searches_the_log_has_an_example() -> None:
    assert [pattern for pattern in PATTERNS if pattern.match is not None and pattern.within is None and not pattern.example] == []


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_an_example_is_found_by_its_own_pattern(pattern: failures.Pattern) -> None:
    fits = [other for other in PATTERNS if other.find(enginelog.read(pattern.example).errors, "Error", 1)[0]]
    assert fits[0] is pattern


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_an_example_is_found_in_noise(pattern: failures.Pattern) -> None:
    expected = classify(pattern.example)
    noise = "Loading shards:   0% | 0/4\rLoading shards: 100% | 4/4\r(EngineCore pid=68) WARNING 11-29 12:00:00 [cuda.py:12] CUDA out of memory, just kidding\n"
    found = classify(f"off-line, cut) line\n{noise}{from_the_engine_process(pattern.example)}")
    assert (expected.kind, expected.sentence, expected.remedy) == (found.kind, found.sentence, found.remedy)


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_colours_and_the_server_that_repeats_its_children_change_nothing(pattern: failures.Pattern) -> None:
    lines = "".join(f"\x1b[1;36m(APIServer pid=1)\x1b[0;0m (EngineCore_0 pid=68) {line}\r\n" for line in pattern.example.splitlines())
    assert classify(pattern.example).sentence == classify(lines).sentence


def test_of_a_cause_in_the_engine_process_the_last_2_kib_have_only_the_consequence() -> None:
    whole = from_the_engine_process("ValueError: No available memory for the cache blocks.")
    assert (classify(whole).kind, classify(whole[-TAIL:]).kind) == ("NoCacheMemory", "EngineCoreFailed")


@pytest.mark.parametrize(
    ("code", "ended", "kind", "reason"),
    [
        pytest.param(0, "Completed", "EngineDied", "CanaryCrashed", id="vLLM ends well when its engine dies"),
        pytest.param(1, "Error", "Unrecognised", "CanaryCrashed", id="an error without words"),
        pytest.param(2, "Error", "CommandLineRefused", "ConfigRefused", id="argparse"),
        pytest.param(127, "Error", "NotStarted", "CanaryCrashed", id="a shell finds no command"),
        pytest.param(128, "StartError", "NotStarted", "CanaryCrashed", id="the runtime could not start it"),
        pytest.param(135, "Error", "SharedMemoryTooSmall", "SharedMemoryTooSmall", id="SIGBUS"),
        pytest.param(137, "OOMKilled", "OutOfMemory", "OutOfMemory", id="the OOM killer"),
        pytest.param(137, "Error", "ProbeFailed", "ProbeFailed", id="SIGKILL by someone else"),
        pytest.param(139, "Error", "Segfault", "CanaryCrashed", id="SIGSEGV"),
        pytest.param(143, "Error", "ProbeFailed", "ProbeFailed", id="SIGTERM"),
        pytest.param(None, "", "Unrecognised", "CanaryCrashed", id="nothing is known"),
    ],
)
@pytest.mark.parametrize("text", ["", " \r\n", "(EngineCore pid=1) INFO 11-29 12:00:00 [a.py:1] Starting\n"], ids=["no log", "a blank log", "a quiet log"])
def test_an_end_without_words_is_read_from_its_exit_code(code: int | None, ended: str, kind: str, reason: str, text: str) -> None:
    found = classify(text, reason=ended, exit_code=code)
    assert (kind, reason) == (found.kind, found.reason)


OOM = "torch.OutOfMemoryError: CUDA out of memory."
KV = "ValueError: To serve at least one request with the model's max seq len (29000), (3.54 GiB KV cache is needed, which is larger than the available KV"


@pytest.mark.parametrize(
    ("text", "known", "kind"),
    [
        pytest.param(f"{OOM}\n{CONSEQUENCE}", {}, "GPUOutOfMemory", id="a cause over its consequence"),
        pytest.param(f"{CONSEQUENCE}\n{OOM}", {}, "GPUOutOfMemory", id="whatever comes last"),
        pytest.param(f"{OOM}\n{KV}", {}, "KVCacheTooSmall", id="what vLLM says over what torch says"),
        pytest.param(f"{KV}\n{OOM}", {"reason": "OOMKilled", "exit_code": 137}, "OutOfMemory", id="the kernel over everything"),
        pytest.param(OOM, {"exit_code": 137}, "GPUOutOfMemory", id="words over an exit code"),
        pytest.param(CONSEQUENCE, {"exit_code": 137}, "ProbeFailed", id="an exit code over a consequence"),
        pytest.param("ncclSystemError: x\nError while creating shared memory segment /dev/shm/a", {}, "SharedMemoryTooSmall", id="a cause over NCCL's error"),
        pytest.param(
            "OSError: We couldn't connect to 'https://huggingface.co'\nInvalid repository ID or local directory specified: 'a/b'.", {}, "HubUnreachable",
            id="no connection over vLLM's guess",
        ),
        pytest.param("Value error, Model architectures ['A'] are not supported for now.", {}, "ModelUnsupported", id="a known refusal over any"),
        pytest.param(f"(EngineCore pid=1) WARNING 11-29 12:00:00 [a.py:1] {OOM}\nKeyError: 'q'", {}, "Unrecognised", id="a warning is no error"),
        pytest.param(f"Traceback\n    raise ValueError('{OOM}')\nKeyError: 'q'", {}, "Unrecognised", id="a line of code is no error"),
        pytest.param("exec: \"vllm\": executable file not found in $PATH", {"reason": "StartError"}, "CommandMissing", id="the runtime's words over its word"),
    ],
)
def test_the_more_telling_one_wins(text: str, known: dict[str, Any], kind: str) -> None:
    assert kind == classify(text, **known).kind


@pytest.mark.parametrize(
    ("free", "total", "share"),
    [("14.62", "22.03", "0.66"), ("22.0", "22.0", "1.00"), ("71.999", "80", "0.89"), ("9", "0", "0.00")],
    ids=["rounded down", "all is free", "never up", "a GPU without memory"],
)
def test_the_share_that_fits_is_rounded_down(free: str, total: str, share: str) -> None:
    text = f"Free memory on device cuda:0 ({free}/{total} GiB) on startup is less than desired GPU memory utilization (0.9, 70.0 GiB)."
    assert classify(text).remedy.endswith(f"gpuMemoryUtilization to {share} or less")


def test_the_line_is_the_engines_own() -> None:
    found = classify(f"(EngineCore pid=68) ERROR 11-29 12:00:00 [core.py:1] {KV}\nbye\n")
    assert found.line.startswith("ValueError: To serve at least one request with the model's max seq len (29000)")
    assert len(found.line) <= 160


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("line one\nRuntimeError: the end\n\n", "RuntimeError: the end", id="an error ends them"),
        pytest.param("ValueError: too long\n[rank0]: shutting down\n", "ValueError: too long", id="the error comes before the farewell"),
        pytest.param("KeyError: 'a'\n    For further information visit https://errors.pydantic.dev/x\n", "KeyError: 'a'", id="pydantic ends with a link"),
        pytest.param('KeyError: 1\n  File "a.py", line 1, in error\n    raise Error(\n', "KeyError: 1", id="code is not what it said"),
        pytest.param("    raise Error(\n", "raise Error(", id="code, where there is nothing else"),
        pytest.param("one\nKilled\n", "Killed", id="no line names an error"),
        pytest.param("INFO 11-29 12:00:00 [a.py:1] Loading weights\n", "Loading weights", id="it never came to an error"),
        pytest.param("a\x00b\tc\u202ed\nerror \ud800 x", "error x", id="nothing unprintable"),
        pytest.param("", "", id="no words"),
    ],
)
def test_of_an_unknown_end_the_most_telling_line_is_kept(text: str, line: str) -> None:
    found = classify(text)
    assert ("Unrecognised", line) == (found.kind, found.line)
    assert found.sentence.endswith(f"its last words: {line or 'none'}")


def test_the_lane_is_named() -> None:
    assert classify("max seq len (9) is larger than", lane="docs").kind == "Unrecognised"
    assert "spec.lanes[docs].scheduler.maxModelLen to 8,192 or less" in classify(
        "User-specified max_model_len (9000) is greater than the derived max_model_len (n=8192.0 or", lane="docs"
    ).remedy


def test_the_reasons_are_those_of_the_api() -> None:
    known = {value for name, value in vars(reasons).items() if name.isupper()}
    assert {pattern.reason for pattern in PATTERNS} - known == set()


def test_the_last_pattern_fits_any_end_and_no_other_does() -> None:
    assert [pattern.kind for pattern in PATTERNS if pattern.find("", "", None)[0]] == ["Unrecognised"]


@pytest.mark.parametrize("pattern", [pytest.param(pattern, id=f"{pattern.kind}: {pattern.sentence}") for pattern in PATTERNS])
def test_templates_name_what_their_pattern_has(pattern: failures.Pattern) -> None:
    groups = set(pattern.match.groupindex) if pattern.match else set()
    known = groups | {"lane", "line", "exit_code", "ended"} | ({"history"} if "flag" in groups else set())
    known |= {"share"} if {"free", "total"} <= groups else set()
    named = {name for text in (pattern.sentence, pattern.remedy) for _, name, _, _ in string.Formatter().parse(text) if name}
    assert named - known == set()


@pytest.mark.parametrize("pattern", [pytest.param(pattern, id=f"{pattern.kind}: {pattern.sentence}") for pattern in PATTERNS if pattern.match])
def test_expressions_cannot_take_long(pattern: failures.Pattern) -> None:
    assert pattern.match is not None
    bare = re.sub(r"\[[^\]]*\]", "C", re.sub(r"\\.", "E", pattern.match.pattern))
    assert re.findall(r"[*+]|,\}|\)\{", bare) == [], "an unbounded or a nested repeat"


@pytest.mark.parametrize("pattern", [pytest.param(pattern, id=f"{pattern.kind}: {pattern.sentence}") for pattern in PATTERNS if pattern.match])
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=10, deadline=None)
def test_whatever_fits_a_pattern_has_an_answer(pattern: failures.Pattern, data: st.DataObject) -> None:
    assert pattern.match is not None
    found = classify(data.draw(st.from_regex(pattern.match)), lane=data.draw(st.text()))
    assert all((found.kind, found.reason, found.sentence, found.remedy))


@hypothesis.settings(deadline=None)
@hypothesis.given(text=st.text(alphabet=st.characters()), reason=st.text(), code=st.one_of(st.none(), st.integers()))
def test_any_text_has_an_answer_on_one_line(text: str, reason: str, code: int | None) -> None:
    found = failures.classify(text, reason=reason, exit_code=code, lane="chat")
    assert all((found.kind, found.reason, found.sentence, found.remedy))
    assert [word for word in (found.sentence, found.remedy, found.line) if not word.isprintable()] == []


# Text that expressions like to go back over; a time-out ends a test that hangs.
PIECES = [
    "a", "(", " ", "1", "/a", ".", "'", "\r", "\x1b[", "(A pid=1) ", "[rank0]: ", "max seq len (", "max seq len (1), (1", "Value error, ", "--a-",
    "NCCL error: a,", "error: argument --", "Failed core proc(s): {", "x is not a local folder ", "validation error for A\n",
    "Free memory on device (1", "[Errno 13] Permission denied: '",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("size", [4096, 4 * enginelog.KEPT])
def test_hostile_texts_end(piece: str, size: int) -> None:
    assert classify((piece * size)[:size]).kind
