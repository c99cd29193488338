"""As much of PromQL as the judge asks, over samples in memory: an instant query in, a vector out. Whatever it does not know is refused, not guessed.

Semantics of Prometheus 3: a range is left-open, functions other than `last_over_time` and `first_over_time` drop the name.
"""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.replay import series as data

Vector = list[tuple[data.Labels, float]]

_TOKEN = re.compile(
    r"""\s*(?:(?P<word>[a-zA-Z_][a-zA-Z0-9_:]*)|(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|[smhd])?|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<sign>=~|!~|!=|[-=(){}\[\],@/*+]))"""
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


class RefusedError(Exception):
    """A query that this evaluator does not know."""


@dataclasses.dataclass(frozen=True)
class _Selector:
    """A selector with its range (seconds; None: instant), evaluated at `time`."""

    matchers: tuple[data.Matcher, ...]
    time: float
    span: float | None = None


def _resets(values: Sequence[float]) -> float:
    return float(sum(after < before for before, after in itertools.pairwise(values)))


_OVER_TIME: Mapping[str, Callable[[list[tuple[float, float]]], float]] = {
    "last_over_time": lambda samples: samples[-1][1],
    "first_over_time": lambda samples: samples[0][1],
    "min_over_time": lambda samples: min(value for _, value in samples),
    "max_over_time": lambda samples: max(value for _, value in samples),
    "count_over_time": lambda samples: float(len(samples)),
    "resets": lambda samples: _resets([value for _, value in samples]),
    "changes": lambda samples: float(sum(a[1] != b[1] for a, b in itertools.pairwise(samples))),
}
_KEEP_NAME = frozenset({"last_over_time", "first_over_time"})
_AGGREGATES: Mapping[str, Callable[[list[float]], float]] = {
    "sum": sum, "max": max, "min": min, "count": lambda values: float(len(values)), "avg": lambda values: sum(values) / len(values),
}


def evaluate(query: str, database: data.Database, time: float) -> Vector:
    """Return the query's vector as of `time`; RefusedError where it is not known."""
    reader = _Reader(query, database, time)
    found = reader.expression()
    if reader.peek() is not None:
        raise RefusedError(f"{reader.peek()} is not understood in {query}")
    return found


class _Reader:
    """Reads a query from left to right and evaluates what it has read."""

    def __init__(self, query: str, database: data.Database, time: float) -> None:
        self._tokens = list(_tokens(query))
        self._query, self._database, self._time = query, database, time
        self._next = 0

    def peek(self) -> str | None:
        """The next token; None at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def expression(self) -> Vector:
        """Terms joined by `or`."""
        found = self._term()
        while self.peek() == "or":
            self._take("or")
            known = {_key(labels, without_name=True) for labels, _ in found}
            found += [item for item in self._term() if _key(item[0], without_name=True) not in known]
        return found

    def _term(self) -> Vector:
        token = self.peek()
        if token == "(":
            self._take("(")
            found = self.expression()
            self._take(")")
            return found
        if token in _AGGREGATES:
            return self._aggregate()
        if token == "timestamp":
            return self._timestamp()
        if token == "vector":
            return self._clock()
        if token in _OVER_TIME:
            return self._over_time()
        selector = self._selector()
        return [(one.labels, sample[1]) for one, sample in self._instant(selector)]

    def _aggregate(self) -> Vector:
        combine = _AGGREGATES[self._take()]
        by = self._by()
        self._take("(")
        inner = self.expression()
        self._take(")")
        by = by if by is not None else self._by() or []
        groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for labels, value in inner:
            groups.setdefault(tuple((name, labels[name]) for name in by if name in labels), []).append(value)
        return [(dict(key), combine(values)) for key, values in groups.items()]

    def _by(self) -> list[str] | None:
        if self.peek() != "by":
            return None
        self._take("by")
        self._take("(")
        names = []
        while self.peek() != ")":
            names.append(self._take())
            if self.peek() == ",":
                self._take(",")
        self._take(")")
        return names

    def _timestamp(self) -> Vector:
        self._take("timestamp")
        self._take("(")
        selector = self._selector()
        self._take(")")
        return [(_nameless(one.labels), sample[0]) for one, sample in self._instant(selector)]

    def _clock(self) -> Vector:
        """`vector(time())`, the one use of both."""
        for token in ("vector", "(", "time", "(", ")", ")"):
            self._take(token)
        return [({}, self._time)]

    def _over_time(self) -> Vector:
        name = self._take()
        self._take("(")
        selector = self._selector()
        self._take(")")
        if selector.span is None:
            raise RefusedError(f"{name} needs a range in {self._query}")
        found: Vector = []
        for one in self._database.select(selector.matchers):
            if samples := one.between(selector.time - selector.span, selector.time):
                found.append((one.labels if name in _KEEP_NAME else _nameless(one.labels), _OVER_TIME[name](samples)))
        return found

    def _instant(self, selector: _Selector) -> Iterator[tuple[data.Series, tuple[float, float]]]:
        if selector.span is not None:
            raise RefusedError(f"a range where a vector is needed in {self._query}")
        for one in self._database.select(selector.matchers):
            if (sample := one.at(selector.time)) is not None:
                yield one, sample

    def _selector(self) -> _Selector:
        matchers: list[data.Matcher] = []
        if self.peek() != "{":
            matchers.append(("__name__", "=", self._take()))
        if self.peek() == "{":
            matchers += self._matchers()
        span = None
        if self.peek() == "[":
            self._take("[")
            span = float(self._take())
            self._take("]")
        return _Selector(tuple(matchers), self._moment(), span)

    def _matchers(self) -> Iterator[data.Matcher]:
        self._take("{")
        while self.peek() != "}":
            name, sign, text = self._take(), self._take(), self._take()
            if sign not in ("=", "!=", "=~", "!~") or not text.startswith('"'):
                raise RefusedError(f"{name}{sign}{text} is no matcher in {self._query}")
            yield name, sign, re.sub(r"\\(.)", r"\1", text[1:])
            if self.peek() == ",":
                self._take(",")
        self._take("}")

    def _moment(self) -> float:
        """`@ T` and `offset D`, in either order."""
        time, back = self._time, 0.0
        while self.peek() in ("@", "offset"):
            if self._take() == "@":
                time = float(self._take())
            else:
                back = float(self._take())
        return time - back

    def _take(self, wanted: str | None = None) -> str:
        token = self.peek()
        if token is None or (wanted is not None and token != wanted):
            raise RefusedError(f"{wanted or 'something'} expected, {token or 'the end'} found in {self._query}")
        self._next += 1
        return token


def _tokens(query: str) -> Iterator[str]:
    """Words and signs as they are, lengths of time in seconds, texts with a quote before them."""
    position = 0
    while query[position:].strip():
        found = _TOKEN.match(query, position)
        if found is None:
            raise RefusedError(f"{query[position:position + 20]!r} is not understood in {query}")
        position = found.end()
        if found["text"] is not None:
            yield f'"{found["text"]}'
        elif found["number"] is not None:
            yield str(float(found["number"]) * _UNITS[found["unit"]])
        else:
            yield found["word"] or found["sign"]


def _nameless(labels: data.Labels) -> data.Labels:
    return {name: value for name, value in labels.items() if name != "__name__"}


def _key(labels: data.Labels, *, without_name: bool = False) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((_nameless(labels) if without_name else labels).items()))
