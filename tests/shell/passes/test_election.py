"""Who leads, and when another may."""

import asyncio
import dataclasses
import datetime
from typing import Any

import pytest

from fairlane.shell import election, kube

KEY = ("leases", "system", "fairlane")


@dataclasses.dataclass
class Clock:
    """A clock that stands until it is told."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.seconds, datetime.UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def candidate(api: kube.Kube, clock: Clock, name: str, seconds: float = 15.0) -> election.Election:
    return election.Election(api, election.Candidate("system", "fairlane", name, seconds), clock.now, clock)


def holder(stub: Any) -> str:
    return str(stub.objects[KEY]["spec"]["holderIdentity"])


async def test_the_first_takes_the_lease(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first = candidate(api, clock, "a")
    assert first.leads() is False
    await first.acquire()
    assert (holder(stub), first.leads()) == ("a", True)


async def test_a_second_waits_until_the_first_lets_go(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b", seconds=0.05)
    await first.acquire()
    waiting = asyncio.create_task(second.acquire())
    while sum(request == ("GET", "/apis/coordination.k8s.io/v1/namespaces/system/leases/fairlane") for request in stub.requests) < 4:   # noqa: ASYNC110  the code under test sets no event for tests
        await asyncio.sleep(0.005)
    assert (holder(stub), waiting.done()) == ("a", False)
    await first.release()
    assert first.leads() is False
    async with asyncio.timeout(5):
        await waiting
    assert holder(stub) == "b"


async def test_an_expired_lease_is_taken_by_the_watchers_own_clock(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b")
    await first.acquire()
    assert await second._try() == "a"
    clock.seconds += 14
    assert await second._try() == "a"
    clock.seconds += 2
    assert await second._try() == "b"
    assert stub.objects[KEY]["spec"]["leaseTransitions"] == 2


async def test_a_renewal_keeps_others_away(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first, second = candidate(api, clock, "a"), candidate(api, clock, "b")
    await first.acquire()
    for _ in range(5):
        clock.seconds += 10
        assert await first._try() == "a"
        assert await second._try() == "a"


async def test_leading_is_uncertain_before_another_may_take_over(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first = candidate(api, clock, "a")
    await first.acquire()
    clock.seconds += 11
    assert first.leads() is True
    clock.seconds += 2
    assert first.leads() is False


async def test_an_api_server_that_was_away_gives_the_lease_back_to_its_holder(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first = candidate(api, clock, "a", seconds=0.05)
    await first.acquire()
    clock.seconds += 30
    stub.fail("GET", "/leases", 503, times=2)
    keeper = asyncio.create_task(first.keep())
    while not first.leads():   # noqa: ASYNC110  the code under test sets no event for tests
        await asyncio.sleep(0.005)
    assert keeper.done() is False
    keeper.cancel()


async def test_a_lease_that_another_took_is_lost(stub: Any, api: kube.Kube, clock: Clock) -> None:
    first = candidate(api, clock, "a", seconds=0.05)
    await first.acquire()
    stub.put("leases", {"metadata": {"name": "fairlane", "namespace": "system"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}})
    with pytest.raises(election.Lost, match="b leads now"):
        async with asyncio.timeout(5):
            await first.keep()
    assert first.leads() is False


async def test_a_restarted_process_has_its_lease_at_once(stub: Any, api: kube.Kube, clock: Clock) -> None:
    await candidate(api, clock, "pod-1").acquire()
    again = candidate(api, clock, "pod-1")
    await again.acquire()
    assert again.leads() is True


async def test_two_that_write_at_once_do_not_both_lead(stub: Any, api: kube.Kube, clock: Clock) -> None:
    stub.put("leases", {"metadata": {"name": "fairlane", "namespace": "system"}, "spec": {"holderIdentity": ""}})
    both = [candidate(api, clock, name) for name in "ab"]
    await asyncio.gather(*(one._try() for one in both))
    assert [one.leads() for one in both].count(True) == 1
