"""When something happened first, in each of many rollouts."""

import numpy

from .arrays import Counts, Flags, Numbers

NEVER = -1


class First:
    """The tick of the first mark of each row, and the requests that the canary had served by then."""

    def __init__(self, rows: int) -> None:
        self.tick: Counts = numpy.full(rows, NEVER)
        self.served: Counts = numpy.full(rows, NEVER)

    def mark(self, now: Flags, tick: int, served: Numbers) -> None:
        """Note the rows where it happens now and had not before."""
        new = now & (self.tick == NEVER)
        self.tick[new] = tick
        self.served[new] = served[new]
