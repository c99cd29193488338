"""Time series in memory, with the semantics of Prometheus."""

import bisect
import dataclasses
import re
from collections.abc import Iterable, Mapping

LOOKBACK = 300.0    # seconds that an instant selector looks back
Labels = Mapping[str, str]
Key = tuple[tuple[str, str], ...]
Matcher = tuple[str, str, str]      # label, sign (=, !=, =~, !~), text


@dataclasses.dataclass
class Series:
    """One series: its labels, its samples in the order of their times (Unix seconds), and since when its target is gone."""

    labels: Labels
    times: list[float] = dataclasses.field(default_factory=list)
    values: list[float] = dataclasses.field(default_factory=list)
    gone: float | None = None

    def add(self, time: float, value: float) -> None:
        """Append a sample; one that is not newer than the last is dropped, as Prometheus drops it."""
        if not self.times or time > self.times[-1]:
            self.times.append(time)
            self.values.append(value)
            self.gone = None

    def between(self, after: float, until: float) -> list[tuple[float, float]]:
        """The samples in (after, until]."""
        span = slice(bisect.bisect_right(self.times, after), bisect.bisect_right(self.times, until))
        return list(zip(self.times[span], self.values[span], strict=True))

    def at(self, time: float) -> tuple[float, float] | None:
        """The sample that an instant selector sees: none once its target is gone."""
        position = bisect.bisect_right(self.times, time) - 1
        if position < 0 or self.times[position] <= time - LOOKBACK or (self.gone is not None and self.times[position] < self.gone <= time):
            return None
        return self.times[position], self.values[position]


@dataclasses.dataclass
class Database:
    """All series, by target and own labels."""

    series: dict[tuple[Key, Key], Series] = dataclasses.field(default_factory=dict)
    _selected: dict[tuple[Matcher, ...], tuple[int, list[Series]]] = dataclasses.field(default_factory=dict)    # with how many series there were

    def select(self, matchers: tuple[Matcher, ...]) -> list[Series]:
        """The series that all matchers take."""
        known, found = self._selected.get(matchers, (-1, []))
        if known != len(self.series):
            found = [one for one in self.series.values() if all(_matches(one.labels.get(name, ""), sign, text) for name, sign, text in matchers)]
            self._selected[matchers] = len(self.series), found
        return found

    def write(self, time: float, target: Key, samples: Iterable[tuple[Key, float]]) -> None:
        """Keep one scrape of a target; its labels go onto every series."""
        for labels, value in samples:
            found = self.series.get((target, labels))
            if found is None:
                found = self.series[target, labels] = Series(dict(target) | dict(labels))
            found.add(time, value)

    def stale(self, time: float, target: Key) -> None:
        """A target is gone, and its series with it."""
        for (source, _), one in self.series.items():
            if source == target and one.gone is None:
                one.gone = time

    def copy(self) -> "Database":
        """The same series once more."""
        return Database({key: dataclasses.replace(one, times=one.times[:], values=one.values[:]) for key, one in self.series.items()})

    def forget(self) -> None:
        """Lose all history, as a Prometheus without a volume does when it is moved."""
        self.series.clear()
        self._selected.clear()


def _matches(value: str, sign: str, text: str) -> bool:
    match sign:
        case "=":
            return value == text
        case "!=":
            return value != text
        case "=~":
            return re.fullmatch(text, value) is not None
        case _:
            return re.fullmatch(text, value) is None
