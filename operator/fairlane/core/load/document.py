"""What the operator tells the process that sends: one JSON document in a ConfigMap, read again while it runs."""

import pydantic

KEY = "load.json"
FOLDER = "/etc/fairlane/load"
SCRATCH = "/run/fairlane"


class Load(pydantic.BaseModel):
    """The synthetic load of one lane in one rollout."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    url: str
    lane: str
    model: str
    key: str                              # the mark by which the router knows the requests; new with each rollout
    rate: float                           # requests per second to send now; 0: none
    max_requests: int                     # in the whole rollout
    in_flight: int                        # at one time
    prompt_tokens: tuple[int, ...]        # lengths at equally spaced ranks, rising
    output_tokens: tuple[int, ...]
    measured: bool = False                # whether the lengths are the lane's own
