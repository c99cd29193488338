"""When a request may be sent: one at a random place of each slot of 1/rate seconds, nothing made up for, pauses after refusals.

Times are seconds of a monotonic clock; chances are in [0, 1).
"""

import dataclasses
import math

OVERLOADED_SECONDS = 30.0    # after a 429: users go first
FAILED_SECONDS = 5.0         # after any other refusal, failure, or no answer


@dataclasses.dataclass(frozen=True)
class Pace:
    """The slot under way. Without a rate none is."""

    rate: float = 0.0
    due: float = math.inf         # when the slot's request may be sent
    end: float = -math.inf        # of the slot
    paused_until: float = -math.inf


def at(pace: Pace, now: float, rate: float, chance: float) -> Pace:
    """Return the pace at this rate. A new rate begins at once, yet not before the old slot or a new one is over."""
    if rate == pace.rate:
        return pace
    if rate <= 0:
        return dataclasses.replace(pace, rate=0.0, due=math.inf)
    begin = max(now, min(pace.end, now + 1 / rate))
    return dataclasses.replace(pace, rate=rate, due=begin + chance / rate, end=begin + 1 / rate)


def over(pace: Pace, now: float, chance: float) -> Pace:
    """Return the pace after the slot's request was sent or left out; slots that went by meanwhile are gone."""
    begin = max(pace.end, now)
    return dataclasses.replace(pace, due=begin + chance / pace.rate, end=begin + 1 / pace.rate)


def due(pace: Pace, now: float) -> bool:
    """Whether the slot's request is due."""
    return now >= pace.due


def paused(pace: Pace, now: float) -> bool:
    """Whether what was refused last is waited out."""
    return now < pace.paused_until


def answered(pace: Pace, now: float, code: int) -> Pace:
    """Return the pace after an answer with this status; 0: there was none."""
    if code == 200:
        return pace
    pause = OVERLOADED_SECONDS if code == 429 else FAILED_SECONDS
    return dataclasses.replace(pace, paused_until=max(pace.paused_until, now + pause))
