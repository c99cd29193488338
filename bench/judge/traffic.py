"""Traffic of a lane with a canary, counted per tick: many independent rollouts at once, one row each.

The noises, all as likely to meet the stable as the canary:
- Iid: every request for itself.
- Shared: spells, common to both tracks, with ten times the slow requests (a minute in six), between them half.
- Burst: slow and failed requests come in clusters, geometric with mean 4, inside one track and one tick. LongBurst: a cluster is spread over three ticks.
- PodMarkov: every pod has its own spells. The canary is one pod, the stable several.
"""

import dataclasses
import enum

import numpy

from . import latencies
from .arrays import Counts, Flags, Floats

TICK = 10.0             # seconds
MINUTE = 6              # ticks
_CLUSTER = 4.0          # slow requests in a burst, mean
_SPELL, _CALM = 60.0, 300.0           # seconds a spell and the calm between two last, mean
_IN_SPELL, _IN_CALM = 10.0, 0.5       # times the share of slow requests


class Noise(enum.StrEnum):
    """What disturbs both tracks alike."""

    IID = "Iid"
    SHARED = "Shared"
    BURST = "Burst"
    SHARED_BURST = "SharedBurst"
    LONG_BURST = "LongBurst"
    POD_MARKOV = "PodMarkov"

    @property
    def spells(self) -> bool:
        """Whether the share of slow requests rises and falls."""
        return self in (Noise.SHARED, Noise.SHARED_BURST, Noise.POD_MARKOV)

    @property
    def bursts(self) -> bool:
        """Whether slow requests come in clusters."""
        return self in (Noise.BURST, Noise.SHARED_BURST, Noise.LONG_BURST)


@dataclasses.dataclass(frozen=True)
class Harm:
    """What is wrong with the canary."""

    name: str
    slow: float = latencies.SLOW
    errors: float = latencies.ERRORS
    stretch: float = 1.0              # of the p99, by lengthening the tail above the p90
    hangs: bool = False               # no request completes…
    timeout: int = 0                  # …until this many ticks after; 0: never
    starves: bool = False             # no request arrives


NONE = Harm("none")


@dataclasses.dataclass(frozen=True)
class Setting:
    """One kind of rollout step."""

    rate: float                       # requests per second of the lane
    noise: Noise = Noise.IID
    harm: Harm = NONE
    weight: float = 0.1               # of the canary
    pods: int = 1                     # of the stable
    onset: int = 0                    # ticks until the harm begins

    @property
    def replicas(self) -> tuple[int, int]:
        """The stable's and the canary's, loaded alike."""
        return round((1 - self.weight) / self.weight), 1


@dataclasses.dataclass(frozen=True)
class Counted:
    """What one tick counted. Rows are rollouts, then the stable's pods, then columns (TTFT edges, E2E edges, errors)."""

    stable: Counts                    # requests [rows, pods]
    stable_over: Counts               # [rows, pods, columns]
    canary: Counts                    # requests [rows]
    canary_over: Counts               # [rows, columns]
    running: Counts                   # requests in the canary's engine now [rows]


class _Track:
    """The requests of one side; its rows are pods."""

    def __init__(self, rng: numpy.random.Generator, rows: int, per_tick: float, noise: Noise) -> None:
        self._rng, self._per_tick, self._noise = rng, per_tick, noise
        self.spell: Flags = rng.random(rows) < _SPELL / (_SPELL + _CALM)
        self._late = [numpy.zeros(rows, numpy.int64), numpy.zeros(rows, numpy.int64)]

    def move(self) -> None:
        """Let spells begin and end."""
        chance = self._rng.random(len(self.spell))
        self.spell = numpy.where(self.spell, chance > TICK / _SPELL, chance < TICK / _CALM)

    def count(self, harm: Harm) -> tuple[Counts, Counts]:
        """Requests, and those over each edge or failed."""
        factor = numpy.where(self.spell, _IN_SPELL, _IN_CALM) if self._noise.spells else numpy.ones(len(self.spell))
        share = numpy.minimum(harm.slow * factor, 1.0)
        quick = self._rng.poisson(self._per_tick * (1 - share))
        if self._noise.bursts:
            slow = self._spread(self._clusters(self._per_tick * share))
            errors = numpy.minimum(self._clusters(numpy.full(len(share), self._per_tick * harm.errors)), quick + slow)
        else:
            slow = self._rng.poisson(self._per_tick * share)
            errors = self._rng.binomial(quick + slow, harm.errors)
        over = [self._over(metric, harm.stretch, quick, slow) for metric in latencies.METRICS]
        return quick + slow, numpy.concatenate([*over, errors[:, None]], axis=1)

    def _clusters(self, mean: Floats) -> Counts:
        """As many requests on average as without, in geometric clusters."""
        clusters = self._rng.poisson(mean / _CLUSTER)
        extra = self._rng.negative_binomial(numpy.maximum(clusters, 1), 1 / _CLUSTER)
        return numpy.where(clusters > 0, clusters + extra, 0)

    def _spread(self, slow: Counts) -> Counts:
        if self._noise is not Noise.LONG_BURST:
            return slow
        now = self._rng.binomial(slow, 1 / 3)
        next_tick = self._rng.binomial(slow - now, 1 / 2)
        due = now + self._late[0]
        self._late = [self._late[1] + next_tick, slow - now - next_tick]
        return due

    def _over(self, metric: str, stretch: float, quick: Counts, slow: Counts) -> Counts:
        """How many requests exceeded each tail edge."""
        cells = latencies.cells(metric, stretch)
        between = self._rng.multinomial(quick, cells[0])[:, 1:] + self._rng.multinomial(slow, cells[1])[:, 1:]
        return between[:, ::-1].cumsum(axis=1)[:, ::-1]


class Traffic:
    """A seeded stream of ticks."""

    def __init__(self, setting: Setting, rows: int, seed: int | tuple[int, ...]) -> None:
        rng = numpy.random.default_rng(seed)
        self.setting, self.rows = setting, rows
        per_tick = setting.rate * TICK
        self._stable = _Track(rng, rows * setting.pods, per_tick * (1 - setting.weight) / setting.pods, setting.noise)
        self._canary = _Track(rng, rows, per_tick * setting.weight, setting.noise)
        self._ticks = 0
        self._hanging: list[Counts] = []
        self._stuck: Counts = numpy.zeros(rows, numpy.int64)

    def tick(self) -> Counted:
        """The next ten seconds."""
        self._move()
        harm = self.setting.harm if self._ticks >= self.setting.onset else NONE
        stable, stable_over = self._stable.count(NONE)
        canary, canary_over = self._canary.count(harm)
        if harm.starves:
            canary, canary_over = canary * 0, canary_over * 0
        running = canary
        if harm.hangs:
            canary, canary_over = self._hang(harm, canary)
            self._stuck = self._stuck + running - canary
            running = self._stuck
        self._ticks += 1
        pods = self.setting.pods
        return Counted(stable.reshape(-1, pods), stable_over.reshape(-1, pods, latencies.COLUMNS), canary, canary_over, running)

    def _move(self) -> None:
        pods = self.setting.pods
        self._stable.move()
        if self.setting.noise is Noise.POD_MARKOV:
            self._canary.move()
        else:
            self._canary.spell = self._stable.spell[::pods]
            self._stable.spell = numpy.repeat(self._canary.spell, pods)

    def _hang(self, harm: Harm, sent: Counts) -> tuple[Counts, Counts]:
        """What completes now: those sent a timeout ago, each slow and failed."""
        self._hanging.append(sent)
        late = len(self._hanging) - 1 - harm.timeout
        done = self._hanging[late] if harm.timeout and late >= 0 else numpy.zeros_like(sent)
        return done, numpy.repeat(done[:, None], latencies.COLUMNS, axis=1)
