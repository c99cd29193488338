"""What the router pods say they serve: nothing is called done before every one of them has said so."""

import dataclasses

from .. import observed
from ..routing import document


@dataclasses.dataclass(frozen=True)
class Agents:
    """The stored routes and the router pods' word on them."""

    stored: document.RouteDocument | None
    pods: tuple[observed.RouterPod, ...]

    @property
    def counted(self) -> tuple[observed.RouterPod, ...]:
        """The pods that may send a request somewhere: all but those that never served. Terminating ones count until they are gone."""
        return tuple(pod for pod in self.pods if pod.state is not None or pod.ready or pod.terminating)

    @property
    def acknowledged(self) -> bool:
        """Whether every one of them serves the stored routes."""
        return not self.behind

    @property
    def behind(self) -> tuple[str, ...]:
        """The pods that do not serve the stored routes yet. Without stored routes none does."""
        version = self.stored.version if self.stored else None
        return tuple(pod.name for pod in self.counted if pod.state is None or pod.state.version != version)

    def endpoints(self, lane: str, revision: str) -> int:
        """How many pods of the revision every router may use: the least that any says. Without a router pod nobody needs to know: 0."""
        key = f"{lane}/{revision}"
        return min((pod.state.endpoints.get(key, 0) if pod.state else 0 for pod in self.counted), default=0)

    def reaches(self, lane: str, revision: str) -> bool:
        """Whether a ready router pod may use a pod of the revision."""
        key = f"{lane}/{revision}"
        return any(pod.state is not None and pod.state.endpoints.get(key, 0) > 0 for pod in self.pods if pod.ready and not pod.terminating)

    def lane(self, name: str) -> document.LaneRoute | None:
        """The lane's stored route."""
        if self.stored is None:
            return None
        return next((lane for lane in self.stored.lanes if lane.name == name), None)

    def track(self, lane: str, revision: str) -> document.Track | None:
        """The stored track of a revision."""
        route = self.lane(lane)
        return next((track for track in route.tracks if track.revision == revision), None) if route else None

    def serves(self, lane: str, revision: str, weight: int) -> bool:
        """Whether every router serves stored routes in which the revision has exactly this weight."""
        track = self.track(lane, revision)
        return track is not None and track.weight == weight and self.acknowledged

    def left(self, lane: str, revision: str) -> bool:
        """Whether every router serves stored routes without the revision."""
        return self.track(lane, revision) is None and self.acknowledged
