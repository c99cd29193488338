"""What engines and routers count of simulated requests, as Prometheus scrapes it: vLLM's series by the stand-in engine, Envoy's by the names in the routes."""

import bisect
import dataclasses
import functools
import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from e2e.engine import metrics as engine

from fairlane.core.routing import metrics as router

Sample = tuple[tuple[tuple[str, str], ...], float]    # labels, value

_TOKENS = 20     # of each answer


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """How a revision's engines answer: the share of requests with a late first token, and of those that fail."""

    slow: float = 0.01
    errors: float = 0.0


class Engine:
    """One engine pod's counters."""

    def __init__(self) -> None:
        self._metrics = engine.Metrics("default", 8192)

    def served(self, ttft: float, tpot: float) -> None:
        """Count one whole answer; seconds."""
        decode = tpot * (_TOKENS - 1)
        self._metrics.observe("vllm:time_to_first_token_seconds", ttft)
        for _ in range(_TOKENS - 1):
            self._metrics.observe("vllm:inter_token_latency_seconds", tpot)
        for name, value in {"e2e_request_latency": ttft + decode, "request_queue_time": ttft / 10, "request_time_per_output_token": tpot}.items():
            self._metrics.observe(f"vllm:{name}_seconds", value)
        self._metrics.add("vllm:generation_tokens_total", _TOKENS)
        self._metrics.add("vllm:request_success_total", 1, 'finished_reason="length"')

    def samples(self) -> Iterator[Sample]:
        """What a scrape sees."""
        for line in self._metrics.render().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                yield _labels(name), float(value)


@functools.lru_cache(maxsize=10_000)
def _labels(series: str) -> tuple[tuple[str, str], ...]:
    """The labels of `name{label="value",…}`."""
    name, _, rest = series.partition("{")
    return ("__name__", name), *re.findall(r'(\w+)="([^"]*)"', rest)


class Router:
    """One router pod's counters; a series is born with its first request, as Envoy's are."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[tuple[str, str], ...]] = Counter()
        self._observed: defaultdict[tuple[str, str, str], Counter[int]] = defaultdict(Counter)    # observations by the index of their bucket

    def answered(self, lane: str, revision: str, ttft: float, duration: float) -> None:
        """Count one whole answer; seconds."""
        for counter in (router.TRIES, router.REQUESTS):
            self._count(counter, lane, revision, "200")
        for name, value in ((router.TTFT, ttft), (router.DURATION, duration)):
            self._observed[name, lane, revision][bisect.bisect_left(router.BUCKETS_MS, 1000 * value)] += 1

    def failed(self, lane: str, revision: str) -> None:
        """Count one request that was answered with 500."""
        for counter in (router.TRIES, router.FAILURES, router.REQUESTS):
            self._count(counter, lane, revision, "500")

    def samples(self) -> Iterator[Sample]:
        """What a scrape sees."""
        yield (("__name__", "envoy_server_uptime"),), 1.0
        for labels, number in self._counts.items():
            yield labels, float(number)
        for (name, lane, revision), observed in self._observed.items():
            where = ((router.LANE, lane), (router.REVISION, revision))
            below = itertools.accumulate(observed[index] for index in range(len(router.BUCKETS_MS) + 1))
            for edge, count in zip([*map(str, router.BUCKETS_MS), "+Inf"], below, strict=True):
                yield (("__name__", f"{name}_bucket"), *where, ("le", edge)), float(count)
            yield (("__name__", f"{name}_count"), *where), float(observed.total())

    def _count(self, name: str, lane: str, revision: str, code: str) -> None:
        self._counts[("__name__", name), (router.LANE, lane), (router.REVISION, revision), (router.CODE, code), (router.FLAGS, "-")] += 1


class Taken(NamedTuple):
    """A request: when it came (Unix seconds), the revision that took it, and whether it failed."""

    at: float
    revision: str
    failed: bool


@dataclasses.dataclass
class Meter:
    """Requests, from their arrival to what is counted of them. The n-th request is the same one in every run, wherever it goes."""

    behaviours: Mapping[str, Behaviour]          # by revision, or by the hash of its inputs
    engines: dict[str, Engine] = dataclasses.field(default_factory=dict)
    routers: dict[str, Router] = dataclasses.field(default_factory=dict)
    truth: list[Taken] = dataclasses.field(default_factory=list)

    def request(self, now: float, chance: random.Random, router_pod: str, track: tuple[str, str], engine_pod: str) -> None:
        """One request of `track`, a lane and a revision, reaches an engine pod through a router pod."""
        revision = track[1]
        behaviour = self.behaviours.get(revision) or self.behaviours.get(revision.partition("-")[0], Behaviour())
        through = self.routers.setdefault(router_pod, Router())
        failed = chance.random() < behaviour.errors
        self.truth.append(Taken(now, revision, failed))
        if failed:
            through.failed(*track)
            return
        slow = chance.random() < behaviour.slow
        ttft = chance.lognormvariate(-2.0, 0.4) * (12 if slow else 1)
        tpot = chance.lognormvariate(-3.6, 0.2)
        self._engine(engine_pod).served(ttft, tpot)
        through.answered(*track, ttft + 0.002, ttft + tpot * (_TOKENS - 1))

    def scraped(self, pod: str) -> Iterator[Sample]:
        """What a scrape of the pod sees; an engine has all its series from its start."""
        yield from (self.routers[pod] if pod in self.routers else self._engine(pod)).samples()

    def restart(self, pod: str) -> None:
        """The pod's container starts again: its counters are gone."""
        if pod in self.routers:
            self.routers[pod] = Router()
        else:
            self.engines.pop(pod, None)

    def _engine(self, pod: str) -> Engine:
        if pod not in self.engines:
            self.engines[pod] = Engine()
        return self.engines[pod]
