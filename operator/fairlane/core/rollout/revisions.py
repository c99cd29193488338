"""Which stored revision answers to the desired inputs? Stored ones are never rendered again."""

import dataclasses

from .. import revisions as stored
from . import view


def choose(lane: view.View) -> stored.Revision:
    """Return the revision to try: the latest stored one with the desired hash, or a new one where that has had its rollout already.

    A pass that was cut off after it stored a revision finds the same one again.
    """
    same = [item for item in lane.revisions if item.hash == lane.rendered.hash]
    latest = max(same, key=lambda item: item.ordinal, default=None)
    spent = max((ordinal(name) for name in lane.used if view.hash_of(name) == lane.rendered.hash), default=0)
    if latest is not None and latest.ordinal > spent:
        return latest
    return make(lane.rendered, spent + 1)


def again(lane: view.View, besides: str = "") -> stored.Revision:
    """Return the stable revision under the next ordinal (not that of `besides`), with the pod template that it was stored with: nothing is rendered anew."""
    stable = resolve(lane, lane.status.stable)
    known = stable or make(lane.rendered, 1)
    taken = lane.used | {lane.status.stable} | ({besides} if besides else set())
    spent = max((ordinal(name) for name in taken if view.hash_of(name) == known.hash), default=0)
    return dataclasses.replace(known, ordinal=spent + 1)


def ordinal(revision: str) -> int:
    """Return the ordinal in a revision's id."""
    return int(revision.rpartition("-")[2])


def make(rendered: stored.Rendered, ordinal: int) -> stored.Revision:
    """Return the revision that is stored for what was rendered today."""
    return stored.Revision(
        lane=rendered.lane, hash=rendered.hash, ordinal=ordinal, inputs=rendered.inputs, template=rendered.template, gpus=rendered.gpus
    )


def resolve(lane: view.View, revision: str, created: stored.Revision | None = None) -> stored.Revision | None:
    """Return a revision by its id: made in this pass, stored, the stable's twin, or, where its ControllerRevision was lost, rendered from the same inputs."""
    if created is not None and created.id == revision:
        return created
    if (found := lane.stored(revision)) is not None:
        return found
    if (stable := lane.stored(lane.status.stable)) is not None and view.hash_of(revision) == stable.hash:
        return dataclasses.replace(stable, ordinal=ordinal(revision))
    if revision and view.hash_of(revision) == lane.rendered.hash:
        return make(lane.rendered, ordinal(revision))
    return None


def reject(rejected: list[str], revision_hash: str) -> list[str]:
    """Return the rejected hashes with one more, the oldest forgotten beyond twenty."""
    return [*(item for item in rejected if item != revision_hash), revision_hash][-20:]
