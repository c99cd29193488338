"""What is simulated: healthy canaries under every noise and rate, and every harm."""

import dataclasses
import itertools

from . import traffic
from .traffic import Harm, Noise, Setting
from .trials import Case

RATES = (0.2, 2.0, 20.0, 200.0)       # requests per second of the lane
NOISES = (Noise.IID, Noise.SHARED, Noise.BURST, Noise.SHARED_BURST)
HARMS = (
    Harm("p99 x 2", stretch=2),
    Harm("p99 x 5", stretch=5),
    Harm("slow 1 → 5 %", slow=0.05),
    Harm("slow 1 → 20 %", slow=0.2),
    Harm("errors 0.1 → 1 %", errors=0.01),
    Harm("errors 0.1 → 5 %", errors=0.05),
    Harm("errors 0.1 → 50 %", errors=0.5),
    Harm("hang, 60 s timeouts", hangs=True, timeout=traffic.MINUTE),
    Harm("hang, nothing completes", hangs=True),
)
LATE = (Harm("slow 1 → 20 %, late", slow=0.2), Harm("errors 0.1 → 5 %, late", errors=0.05))
ONSET = 165             # ticks: half way between two restarts of the evidence
NOISY_RATES = (20.0, 200.0)    # at lower ones a burst of failures has more than there are requests
POD_RATES = (20.0, 200.0)
PODS = (9, 4, 2)        # of the stable, where every pod has its own spells


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How many rollouts of each kind."""

    healthy: int
    clustered: int      # LongBurst
    pods: int
    harmed: int
    noisy: int          # harmed, under SharedBurst
    late: int


WHOLE = Sizes(healthy=10_000, clustered=2_000, pods=500, harmed=400, noisy=200, late=200)


def cases(sizes: Sizes) -> list[Case]:
    """All of them that have any rollouts."""
    return [case for case in (*healthy(sizes), *harmed(sizes)) if case.rows]


def healthy(sizes: Sizes) -> list[Case]:
    """Canaries like their stable, through the default rollout and through a step of an hour."""
    settings = [Setting(rate, noise) for noise, rate in itertools.product(NOISES, RATES)]
    clustered = [Setting(rate, Noise.LONG_BURST) for rate in RATES]
    pods = [Setting(rate, Noise.POD_MARKOV, pods=number) for number, rate in itertools.product(PODS, POD_RATES)]
    return [
        *(Case(setting, sizes.healthy, rollout=True) for setting in settings),
        *(Case(setting, sizes.clustered, rollout=True) for setting in clustered),
        *(Case(setting, sizes.pods, peers=False) for setting in pods),
    ]


def harmed(sizes: Sizes) -> list[Case]:
    """Canaries that do harm, from the beginning or from half an hour on."""
    return [
        *(Case(Setting(rate, harm=harm), sizes.harmed) for harm, rate in itertools.product(HARMS, RATES)),
        *(Case(Setting(rate, Noise.SHARED_BURST, harm), sizes.noisy) for harm, rate in itertools.product(HARMS, NOISY_RATES)),
        *(Case(Setting(rate, harm=harm, onset=ONSET), sizes.late) for harm, rate in itertools.product(LATE, RATES[1:])),
    ]
