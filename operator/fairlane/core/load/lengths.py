"""Lengths of prompts and answers, in tokens: given at equally spaced ranks, rising; drawn one at a time."""

from collections.abc import Sequence


def bounded(lengths: Sequence[int], most: float) -> tuple[int, ...]:
    """Return the lengths with none above `most`, and none below 1."""
    return tuple(max(1, int(min(length, most))) for length in lengths)


def drawn(lengths: Sequence[int], chance: float) -> int:
    """Return one length for a chance in [0, 1): between two neighbours in proportion, so that more than the given ones come up."""
    place = chance * (len(lengths) - 1)
    low = int(place)
    high = min(low + 1, len(lengths) - 1)
    return round(lengths[low] + (lengths[high] - lengths[low]) * (place - low))
