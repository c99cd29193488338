"""How many requests were sent in a rollout, in a file: a container that starts again goes on counting."""

import json
import pathlib


class Tally:
    """The count of one rollout at a time, known by its key."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._key, self._sent = "", 0
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            self._key, self._sent = str(stored["key"]), int(stored["sent"])

    def sent(self, key: str) -> int:
        """How many were sent in the rollout."""
        return self._sent if key == self._key else 0

    def take(self, key: str) -> None:
        """Count one more, before it is sent; OSError where that cannot be kept, so that none is sent uncounted."""
        self._key, self._sent = key, self.sent(key) + 1
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps({"key": self._key, "sent": self._sent}), encoding="utf-8")
        new.replace(self._path)
