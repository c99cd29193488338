"""The route document: all that a router agent needs to know, in one ConfigMap, versioned by its content.

The operator writes it (key `routes.json`), the agent reads it. Nothing else passes from the one to the other.
"""

from typing import Literal

import pydantic

from .. import names

KEY = "routes.json"


class Document(pydantic.BaseModel):
    """A closed, immutable part of the document."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


class Track(Document):
    """One revision that serves or is under trial. Endpoints come from the EndpointSlices that carry its label."""

    role: Literal["stable", "canary", "baseline"]      # baseline: the stable's revision, started with the canary to compare it with
    revision: str
    weight: int            # percent of the lane's requests; those of a lane sum to 100
    in_use: int | None = None      # so many of its serving engines get them, the others stand by; None: all


class LaneRoute(Document):
    """One lane's class, bounds, limits and split."""

    name: str
    max_prompt_tokens: int | None = None
    callers: tuple[str, ...] = ()
    allow_named: bool = True
    max_in_flight: int | None = None       # of the lane, over all router pods
    max_output_tokens: int | None = None
    idle_seconds: float = 30.0
    total_seconds: float = 600.0
    non_streaming_seconds: float = 120.0
    tracks: tuple[Track, ...] = ()         # empty: the lane has nothing that serves yet (503 with a reason)
    fail_safe: Literal["Stable", "Keep"] = "Stable"
    synthetic_key: str = ""                # by which the lane's synthetic load is known, while both tracks have weight; empty: there is none


class RouteDocument(Document):
    """Everything a router serves."""

    namespace: str
    service: str
    model: str
    default_lane: str
    caller_header: str = "x-caller"
    bytes_per_token: int = 4
    router_replicas: int = 2
    fail_safe_after_seconds: float = 60.0
    tls: bool = False                      # the router pod mounts a certificate and serves it
    lanes: tuple[LaneRoute, ...] = ()

    @property
    def version(self) -> str:
        """The content's hash: what agents acknowledge."""
        return names.digest(self.model_dump(mode="json"), 12)

    def used(self, lane: str, revision: str, ready: int) -> int:
        """How many get requests of so many ready engines of a revision."""
        tracks = (track for route in self.lanes if route.name == lane for track in route.tracks if track.revision == revision)
        return min([ready, *(track.in_use for track in tracks if track.in_use is not None)])

    @property
    def has_canary_weight(self) -> bool:
        """Whether any canary has traffic, so that the heartbeat must be renewed."""
        return any(track.role == "canary" and track.weight > 0 for lane in self.lanes for track in lane.tracks)


class RouterState(Document):
    """What an agent says of itself, as JSON in the annotation `fairlane.dev/router-state` of its Lease."""

    version: str = ""                        # of the document whose files Envoy has taken
    endpoints: dict[str, int] = {}           # "<lane>/<revision>" -> endpoints that Envoy may use
    fail_safe: bool = False                  # the heartbeat is overdue and the fail-safe rules
    fail_safe_count: int = 0                 # how often that happened in this agent's life
    envoy_rejected: str = ""                 # Envoy refused the last files: why
