"""vLLM's own /metrics: names, types, labels and bucket edges from the data file beside this module."""
from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from pathlib import Path

_DATA = Path(__file__).with_name("metrics_0.32.txt")
_FIRST_EDGES = (1.0, 2.0, 5.0)


def token_edges(longest: int) -> list[float]:
    """The 1-2-5 series up to the model's length: a revision with another length has other buckets."""
    edges: list[float] = []
    scale = 1
    while True:
        for first in _FIRST_EDGES:
            if first * scale > longest:
                return edges
            edges.append(first * scale)
        scale *= 10


class Metrics:
    """The series of one engine, all there from the start as vLLM's are."""

    def __init__(self, model: str, max_model_len: int) -> None:
        self._common = f'engine="0",model_name="{model}"'
        self._model = model
        self._types: dict[str, str] = {}
        self._values: dict[tuple[str, str], float] = {}
        self._edges: dict[str, list[float]] = {}
        self._observed: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._rejected: Counter[str] = Counter()
        self._http: Counter[tuple[str, str, str]] = Counter()
        for line in _DATA.read_text().splitlines():
            if line.startswith("vllm:"):
                self._declare(max_model_len, *line.split(" "))
        self._values["vllm:engine_sleep_state", 'sleep_state="awake"'] = 1.0

    def _declare(self, longest: int, name: str, kind: str, labels: str, edges: str) -> None:
        self._types[name] = kind
        if kind == "histogram":
            self._edges[name] = token_edges(longest) if edges == "tokens" else [float(edge) for edge in edges.split(",")]
            self._observed[name] = [0] * (len(self._edges[name]) + 1)
        else:
            self._values[name, "" if labels == "-" else labels] = 0.0

    def add(self, name: str, amount: float = 1.0, labels: str = "") -> None:
        """Count up; KeyError for a series that vLLM does not have."""
        self._values[name, labels] += amount

    def set(self, name: str, value: float) -> None:
        self._values[name, ""] = float(value)

    def observe(self, name: str, value: float) -> None:
        self._observed[name][bisect.bisect_left(self._edges[name], value)] += 1
        self._sums[name] += value

    def rejected(self, reason: str) -> None:
        self._rejected[reason] += 1

    def answered(self, handler: str, method: str, status: int) -> None:
        """One HTTP answer, counted as prometheus-fastapi-instrumentator does: by class of status, from the first request on."""
        self._http[handler, method, f"{status // 100}xx"] += 1

    def render(self) -> str:
        lines: list[str] = []
        for name, kind in self._types.items():
            lines.append(f"# TYPE {name} {kind}")
            lines += self._histogram(name) if kind == "histogram" else self._scalars(name)
        lines.append("# TYPE vllm:admission_rejections_total counter")
        for reason in ("max_num_queued_reqs", "max_num_queued_tokens"):  # the one family without the engine's label
            lines.append(f'vllm:admission_rejections_total{{model_name="{self._model}",reason="{reason}"}} {float(self._rejected[reason])}')
        lines.append("# TYPE http_requests_total counter")
        lines += [f'http_requests_total{{handler="{h}",method="{m}",status="{s}"}} {float(n)}' for (h, m, s), n in self._http.items()]
        return "\n".join(lines) + "\n"

    def _scalars(self, name: str) -> list[str]:
        return [f"{name}{{{self._common}{',' + labels if labels else ''}}} {value}" for (own, labels), value in self._values.items() if own == name]

    def _histogram(self, name: str) -> list[str]:
        lines, total = [], 0
        for edge, count in zip([*map(str, self._edges[name]), "+Inf"], self._observed[name], strict=True):
            total += count
            lines.append(f'{name}_bucket{{{self._common},le="{edge}"}} {float(total)}')
        return [*lines, f"{name}_count{{{self._common}}} {float(total)}", f"{name}_sum{{{self._common}}} {float(self._sums[name])}"]
