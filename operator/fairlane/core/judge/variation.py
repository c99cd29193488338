"""How exceedances vary over time: the stable's from tick to tick, and the canary's part of both sides' from minute to minute. Sums for `bets`."""

from . import memory

MINUTE = 60.0           # seconds: longer than what a long prompt makes slow, so that its requests fall into one or two


def minute_over(known: memory.Memory) -> bool:
    """Whether this tick ends a minute."""
    return known.seconds - known.minute >= MINUTE


def between_ticks(before: memory.Tail | memory.Limit, now: float) -> tuple[float, float, float]:
    """Return the stable's exceedances in this tick, and the sums over pairs of ticks with it: of the squared differences, and of the sums."""
    now = memory.rounded(now)
    if before.last is None:
        return now, before.spread, before.mean
    return now, memory.rounded(before.spread + (now - before.last) ** 2), memory.rounded(before.mean + now + before.last)


def next_minute(before: memory.Minutes, now: memory.Over) -> memory.Minutes:
    """Compare the canary's part of a minute's exceedances with that of the minute before. The expectation is the hypergeometric distribution's variance."""
    canary, both = now.canary, now.canary + now.stable
    x, t = canary - before.canary_before, both - before.both_before
    if t <= 0:
        return before._replace(canary_before=canary, both_before=both)
    total = t + before.both
    share = (x + before.canary) / total
    spread, expected = 2 * (x - share * t) ** 2, 2 * share * (1 - share) * t * before.both / max(total - 1, 1.0)
    sums = (before.spread + spread, before.expected + expected) if before.both else (before.spread, before.expected)
    return memory.Minutes(*(memory.rounded(value) for value in (*sums, x, t, canary, both)))
