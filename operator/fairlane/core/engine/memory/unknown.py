"""What cannot be computed, and what is computed only in part."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Unknown:
    """Instead of a number that would have to be made up: why there is none, as a sentence."""

    reason: str


@dataclasses.dataclass(frozen=True)
class Doubt:
    """Something that a number leaves out, as a sentence. It stands in the way of a yes, of a no, of both, or of neither."""

    reason: str
    of_yes: bool = True        # the real need may be higher
    of_no: bool = True         # the real need may be lower
