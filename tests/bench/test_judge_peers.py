"""The rules of others, on traffic made by hand."""

import dataclasses
from collections.abc import Callable

import numpy
import pytest
from bench.judge import latencies, peers, traffic

MINUTES = 40
REQUESTS = 100          # a tick on each side


@dataclasses.dataclass(frozen=True)
class Minute:
    """A minute of the canary: none, healthy, slow or failing."""

    requests: int = REQUESTS
    slow: int = 0
    errors: int = 0


def side(minute: Minute) -> tuple[numpy.ndarray, numpy.ndarray]:
    over = numpy.full((1, latencies.COLUMNS), minute.slow)
    over[:, -1] = minute.errors
    return numpy.array([minute.requests]), over


def first(name: str, canary: Callable[[int], Minute]) -> int:
    """The minute in which a rule acts; -1: never."""
    rules = peers.Peers(1)
    stable, stable_over = side(Minute())
    for tick in range(1, MINUTES * traffic.MINUTE + 1):
        requests, over = side(canary((tick - 1) // traffic.MINUTE + 1))
        rules.tick(tick, traffic.Counted(stable[:, None], stable_over[:, None, :], requests, over, requests))
    acted = int(rules.firsts[name].tick[0])
    return acted // traffic.MINUTE if acted > 0 else acted


HEALTHY, SLOW, FAILING, SILENT = Minute(), Minute(slow=20), Minute(errors=5), Minute(requests=0)


def always(minute: Minute) -> Callable[[int], Minute]:
    return lambda _: minute


def alternating(minute: Minute) -> Callable[[int], Minute]:
    return lambda number: minute if number % 2 else HEALTHY


@pytest.mark.parametrize(("name", "canary", "minute"), [
    pytest.param(peers.FLAGGER, always(HEALTHY), -1, id="Flagger leaves a healthy canary"),
    pytest.param(peers.FLAGGER, always(SLOW), 6, id="Flagger rolls back in the interval after the fifth failed check"),
    pytest.param(peers.FLAGGER, always(FAILING), 6, id="Flagger sees errors"),
    pytest.param(peers.FLAGGER, alternating(SLOW), 10, id="Flagger forgets no failed check"),
    pytest.param(peers.FLAGGER, always(SILENT), 6, id="Flagger takes no data for a failed check"),
    pytest.param(peers.FLAGGER_ONE, always(SLOW), 2, id="Flagger with threshold 1 rolls back in the second interval"),
    pytest.param(peers.ARGO, always(HEALTHY), -1, id="Argo leaves a healthy canary"),
    pytest.param(peers.ARGO, always(SLOW), 4, id="Argo aborts at the failure beyond its limit"),
    pytest.param(peers.ARGO, always(SILENT), -1, id="Argo finds no failure in NaN"),
    pytest.param(peers.ARGO_ZERO, alternating(FAILING), 1, id="Argo with limit 0 aborts at the first failure"),
    pytest.param(peers.KAYENTA, always(HEALTHY), -1, id="Kayenta passes equal series"),
    pytest.param(peers.KAYENTA, always(SLOW), 30, id="Kayenta fails a slow canary after half an hour"),
    pytest.param(peers.KAYENTA, always(FAILING), 30, id="Kayenta sees errors"),
    pytest.param(peers.KAYENTA, lambda number: SLOW if number > 25 else HEALTHY, -1, id="Kayenta lets five slow minutes of thirty pass"),
    pytest.param(peers.KAYENTA, always(SILENT), -1, id="Kayenta says nothing without data"),
])
def test_peers(name: str, canary: Callable[[int], Minute], minute: int) -> None:
    assert first(name, canary) == minute


def test_the_threshold_is_by_what_histogram_quantile_says_in_the_long_run() -> None:
    # the true p99 is 1.18 s; the bucket from 1 to 2.5 s makes more of it
    assert round(peers.long_run_p99(), 2) == 1.53
