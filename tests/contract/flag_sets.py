"""Sets of flags as people may write them: right ones, near misses, wrong types, flags of other versions and combinations.

Generated once and kept in flag_sets.json: hypothesis draws constants of whatever modules are loaded, so it draws others in each run. After a change of the
catalog or of this file: `PYTHONPATH=operator:. python -m tests.contract.flag_sets`.
"""

import json
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import hypothesis
from hypothesis import strategies as st

from fairlane.core.engine import catalog, versions

Flags = dict[str, Any]

# Values of flags that take more than a word: whatever vLLM takes cannot be made from the catalog.
_CONTENTS: dict[str, list[Any]] = {
    "additional-config": [{}],
    "allowed-origins": [["*"]],
    "chat-template": ["{{ messages }}"],
    "compilation-config": [{"mode": 0}, {}],
    "cudagraph-capture-sizes": [[1, 2, 4], [8]],
    "generation-config": ["auto", "vllm"],
    "hf-overrides": [{"rope_theta": 10000.0}, {}],
    "ignore-patterns": [["*.pth", "original/*"], ["*.bin"]],
    "lora-target-modules": [["q_proj"]],
    "override-generation-config": [{"temperature": 0.5}],
    "response-role": ["assistant"],
    "tokenizer-revision": ["main"],
    "tool-call-parser": ["hermes"],
}
_PAIRS: list[tuple[str, str]] = [
    ("max-num-seqs", "max-num-batched-tokens"), ("max-num-active-seqs", "max-num-seqs"), ("long-prefill-token-threshold", "max-model-len"),
    ("max-num-scheduled-tokens", "max-num-batched-tokens"),
]
_TOGETHER: list[Flags] = [
    {"enable-log-outputs": True},
    {"enable-log-outputs": True, "enable-log-requests": True},
    {"enable-log-outputs": True, "enable-log-requests": False},
    {"enable-auto-tool-choice": True},
    {"enable-auto-tool-choice": True, "tool-call-parser": "hermes"},
    {"collect-detailed-traces": ["model"]},
    {"decode-context-parallel-size": 2, "tensor-parallel-size": 2},
    {"decode-context-parallel-size": 2, "tensor-parallel-size": 3},
    {"max-model-len": "auto"},
    {"max-model-len": -1},
    {"compilation-config.mode": 0},
    {"max-num-seqs.x": 1},
    {"--max_num_seqs": "7"},
    {"max_num_seqs": 8, "max-num-seqs": 9},
    {"no-enable-prefix-caching": True},
    {"device-memory-utilization": 0.5},
    {"gpu-memory-utilization": 0.5, "device-memory-utilization": 0.6},
    {"spec-tokens": 2},
    {"spec-tokens": 2, "spec-method": "ngram"},
]
VERSION, COUNT = versions.Version(0, 32, 0), 500
_KEPT = pathlib.Path(__file__).with_suffix(".json")
_BOUNDS = st.lists(st.one_of(st.sampled_from([0.1, 0.5, 1, 2.5]), st.sampled_from([0, -1, True])), max_size=3)
_FAMILIES = st.sampled_from(["time_to_first_token", "request_latency", "iteration_tokens", "ttft"])


def kept() -> list[Flags]:
    """Return the sets that were generated."""
    found: list[Flags] = json.loads(_KEPT.read_text())
    return found


def generated(count: int, version: versions.Version) -> list[Flags]:
    """Return as many sets for this version."""
    found: list[Flags] = []

    checks = list(hypothesis.HealthCheck)
    only = (hypothesis.Phase.generate,)

    @hypothesis.settings(max_examples=count, derandomize=True, database=None, deadline=None, phases=only, suppress_health_check=checks)
    @hypothesis.given(_sets(version))
    def collect(flags: Flags) -> None:
        found.append(flags)

    collect()
    return found


def _sets(version: versions.Version) -> st.SearchStrategy[Flags]:
    known = {name: flag for name in catalog.flags() if (flag := catalog.find(name, version)) is not None and not flag.owned and not flag.same}
    right = _some(known, _right)
    wrong = st.one_of(_some(known, _near), _some(known, _mistyped), _elsewhere(version), _misspelt(known))
    combined = st.one_of(_pairs(), _whole_prompts(), _buckets(), st.sampled_from(_TOGETHER))
    return st.one_of(
        st.lists(right, min_size=1, max_size=3).map(_merged),
        st.tuples(right, right, wrong).map(_merged),
        st.tuples(right, combined).map(_merged),
    )


def _merged(parts: Iterable[Flags]) -> Flags:
    return {name: value for part in parts for name, value in part.items()}


def _some(known: dict[str, catalog.Flag], values: Callable[[catalog.Flag], st.SearchStrategy[Any]]) -> st.SearchStrategy[Flags]:
    """One flag with a value; those of the scheduler, which people tune, more often."""
    tuned = [name for name in known if name.startswith(("max-", "enable-", "long-", "gpu-", "kv-", "block-", "watermark", "stream-", "performance-"))]
    of = {name: values(flag) for name, flag in known.items()}
    names = [name for name, strategy in of.items() if not strategy.is_empty]
    chosen = st.one_of(st.sampled_from([name for name in tuned if name in names] or names), st.sampled_from(names))
    return chosen.flatmap(lambda name: st.fixed_dictionaries({name: of[name]}))


def _right(flag: catalog.Flag) -> st.SearchStrategy[Any]:
    least = int(flag.least if flag.least is not None else flag.above + 1 if flag.above is not None else 0)
    if flag.name in _CONTENTS:
        return st.sampled_from(_CONTENTS[flag.name])
    match flag.kind:
        case "bool" | "switch":
            return st.sampled_from([True, False, "true", "False"])
        case "int":
            return st.one_of(st.just(least), st.integers(least, least + 8), st.sampled_from([least + 64, str(least + 16)]))
        case "human":
            return st.sampled_from([1024, 4096, 8192, "8k", "8K", "32.5k", "16384"])
        case "float":
            return st.sampled_from([0.25, "0.5", 0.75, 1 if flag.below is None else 0.125])
        case "list" if flag.choices:
            return st.lists(st.sampled_from(flag.choices), min_size=1, max_size=2)
        case "any" if flag.choices:
            return st.sampled_from(flag.choices)
    return st.nothing()


def _near(flag: catalog.Flag) -> st.SearchStrategy[Any]:
    """A value just outside of what the flag takes."""
    limits = [flag.least - 1 if flag.least is not None else None, flag.above, flag.most + 0.5 if flag.most is not None else None, flag.below]
    outside = [int(limit) if float(limit).is_integer() else limit for limit in limits if limit is not None]
    match flag.kind:
        case "bool" | "switch":
            return st.sampled_from(["yes", "1", "auto", "on"])
        case "int":
            return st.sampled_from([*outside, "1k", "1.5", "8 ", "1_000", "0x10"])
        case "human":
            return st.sampled_from([*outside, "1.5K", "8q", "8 k", "k", "1e3"])
        case "float":
            return st.sampled_from([*outside, "0,5", "half", "nan", "50%"])
        case "any" if flag.choices:
            return st.sampled_from([near for choice in flag.choices for near in (choice[:-1], f"{choice}x", choice.upper(), f"{choice} ")])
    return st.nothing()


def _mistyped(flag: catalog.Flag) -> st.SearchStrategy[Any]:
    match flag.kind:
        case "bool" | "switch":
            return st.sampled_from([1, 0, 2.5, ["true"]])
        case "int" | "human" | "float":
            return st.sampled_from([True, [1, 2], {"a": 1}, 1.5 if flag.kind != "float" else "x"])
        case "any":
            return st.just(True)
    return st.nothing()


def _elsewhere(version: versions.Version) -> st.SearchStrategy[Flags]:
    """A flag that was removed, or is not there yet."""
    values = {"bool": True, "switch": True, "int": 4, "float": 0.5, "human": 4096, "list": ["x"], "repeat": ["x"], "any": "x"}
    names = [(name, flag) for name, flag in catalog.flags().items() if not flag.known(version) and not flag.owned]
    return st.sampled_from([{name: values.get(flag.kind, True)} for name, flag in names])


def _misspelt(known: dict[str, catalog.Flag]) -> st.SearchStrategy[Flags]:
    def forms(name: str) -> list[str]:
        camel = "".join(part.capitalize() if index else part for index, part in enumerate(name.split("-")))
        return [name[:-1], name[:-3], f"{name}s", name.replace("-", "", 1), name[1:], camel]

    spelt = {form: name for name in known for form in forms(name) if form not in known and known[name].kind in ("int", "bool", "switch")}
    return st.sampled_from(sorted(spelt)).map(lambda form: {form: True if known[spelt[form]].kind != "int" else 4})


def _pairs() -> st.SearchStrategy[Flags]:
    numbers = st.sampled_from([1, 16, 64, 65, 512, 2048, 2049, 8192])
    return st.builds(lambda pair, low, high: {pair[0]: low, pair[1]: high}, st.sampled_from(_PAIRS), numbers, numbers)


def _whole_prompts() -> st.SearchStrategy[Flags]:
    numbers = st.sampled_from([1024, 2048, 2049, 4096])
    return st.builds(lambda length, budget: {"enable-chunked-prefill": False, "max-model-len": length, "max-num-batched-tokens": budget}, numbers, numbers)


def _buckets() -> st.SearchStrategy[Flags]:
    whole = st.dictionaries(_FAMILIES, _BOUNDS, min_size=1, max_size=2).map(lambda value: {"custom-histogram-buckets": value})
    return st.one_of(whole, whole.map(lambda flags: {"custom-histogram-buckets": json.dumps(flags["custom-histogram-buckets"])}))


if __name__ == "__main__":
    _KEPT.write_text("[\n" + ",\n".join(json.dumps(flags) for flags in generated(COUNT, VERSION)) + "\n]\n")
