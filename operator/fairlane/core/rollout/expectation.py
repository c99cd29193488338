"""What can the steps of a rollout show at a lane's rate of requests? Said before the canary has any, with what would help."""

import dataclasses
import math

from ...api import base
from ...api import spec as specs
from ...api import status as statuses
from .. import clock
from . import reasons, view


@dataclasses.dataclass(frozen=True)
class Harm:
    """A regression and the canary requests until it is seen: the medians of 120 simulated runs at 2 and at 20 requests/s of the lane."""

    words: str
    least: int
    most: int


# Simulated with one step, 10 % weight and a budget of 1 %; stable: 1 % slow, 0.1 % failing requests (docs/judge.md).
HARMS = (
    Harm("half of the requests fail", 14, 14),
    Harm("1 in 5 is slow", 50, 170),
    Harm("5 % fail", 110, 180),
    Harm("1 in 20 is slow", 420, 780),
    Harm("the p99 is five times as long", 440, 620),
    Harm("1 % fail", 1430, 1430),
)
PASS = 2400            # canary requests until a canary as good as the stable passes: the median at 20 requests/s, 10 % weight
_MOST_WEIGHT = 50      # percent: with more, the stable has too few requests to compare with


def news(lane: view.View) -> str:
    """Return what is to be said of a canary that loads, once the lane's rate is known; empty where it has been said."""
    status = lane.status
    loads = status.canary and not status.weight and status.phase in (statuses.Phase.WAITING, statuses.Phase.LOADING)
    if not loads or status.expected or status.promote_when_ready or lane.rate is None:
        return ""
    return words(lane.rate, lane.rollout)


def told(lane: view.View, move: view.Move) -> view.Move:
    """Return the move with what can be expected, if that is news and the canary is still on trial."""
    said = news(lane)
    if not said or move.status.canary != lane.status.canary or move.status.phase is statuses.Phase.ROLLING_BACK:
        return move
    event = view.normal(reasons.EVENT_EXPECTED, f"{lane.spec.name}: {said}")
    return dataclasses.replace(move, status=view.changed(move.status, expected=said), events=(*move.events, event))


def requests(rate: float, step: specs.Step) -> float:
    """Canary requests of a step; `rate` is the lane's, in requests/s."""
    return rate * step.weight / 100 * base.seconds(step.duration)


def words(rate: float, rollout: specs.Rollout) -> str:
    """Say what each step brings at `rate` requests/s, what that shows, and what follows where it is too little."""
    synthetic = rollout.analysis.synthetic_load
    sent = max(rate, float(synthetic.requests_per_second)) if synthetic else rate
    last = f"with synthetic load, as long as its {synthetic.max_requests} requests last" if synthetic and sent > rate else "the mean of the last hour"
    opening = f"at {sent:.3g} requests/s, {last}"
    if sent <= 0:
        return f"the lane had no request in the last hour: no step can show anything, and {_insufficient(sent, rollout)}"
    steps = [(step, requests(sent, step)) for step in rollout.steps]
    if all(count < HARMS[0].least for _, count in steps):
        counts = " and ".join(f"{count:.0f}" for _, count in steps)
        blind = f"not even that half of them fail would be seen in time (about {HARMS[0].least} needed)"
        return f"{opening}, the steps bring about {counts} canary requests: {blind}; {_passing(sent, steps)}; {_insufficient(sent, rollout)}"
    said = [opening, *(_step(step, count) for step, count in steps)]
    if any(count < PASS for _, count in steps):
        said += [_passing(sent, steps), _insufficient(sent, rollout)]
    return "; ".join(said)


def _step(step: specs.Step, count: float) -> str:
    seen = [harm.words for harm in HARMS if count >= harm.most] + (["a Pass can be earned"] if count >= PASS else [])
    perhaps = [harm.words for harm in HARMS if harm.least <= count < harm.most]
    unseen = [harm.words for harm in HARMS if count < harm.least]
    parts = [f"{name}: {', '.join(found)}" for name, found in (("seen", seen), ("perhaps", perhaps), ("not seen", unseen)) if found]
    return f"{step.weight} % for {step.duration} brings about {count:.0f} canary requests ({'. '.join(parts)})"


def _passing(rate: float, steps: list[tuple[specs.Step, float]]) -> str:
    """Say which weight or time would earn a Pass in the steps that cannot."""
    found = []
    for step, count in steps:
        if count >= PASS:
            continue
        time = f"{step.weight} % takes {clock.short(PASS / (rate * step.weight / 100))}"
        weight = math.ceil(step.weight * PASS / count)
        found.append(time + (f" or {weight} % for {step.duration}" if weight <= _MOST_WEIGHT else ""))
    return f"a Pass needs about {PASS} canary requests: {', '.join(found)}"


def _insufficient(rate: float, rollout: specs.Rollout) -> str:
    """Say what a step does that ends without a Pass."""
    if rollout.on_insufficient is specs.OnInsufficient.HOLD:
        return "a step without a Pass waits for `fairlane promote` or `abort` (rollout.onInsufficient: Hold)"
    if rollout.on_insufficient is specs.OnInsufficient.ROLLBACK:
        return "a step without a Pass rolls the canary back (rollout.onInsufficient: Rollback)"
    least = rollout.analysis.min_requests
    late = [step for step in rollout.steps if requests(rate, step) < least]
    waits = f", which takes {clock.short(least / (rate * late[0].weight / 100))} at {late[0].weight} %" if late and rate > 0 else ""
    return f"a step without a Pass goes on as no evidence of harm when {least} canary requests are in{waits} (rollout.onInsufficient: Advance)"
