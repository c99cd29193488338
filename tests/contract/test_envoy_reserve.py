"""What a real Envoy does with engines that stand by: nothing while the others serve, everything at once where they do not."""

import asyncio

import pytest
from tests.contract import envoy_engines, envoy_load, envoy_rig

from fairlane.core.routing import document, endpoints

STABLES = ("s1", "s2", "s3")


def half(in_use: int | None) -> document.RouteDocument:
    """A lane whose canary has half of the requests."""
    tracks = (document.Track(role="stable", revision="r-1", weight=50, in_use=in_use), document.Track(role="canary", revision="r-2", weight=50))
    return envoy_rig.routes(document.LaneRoute(name="chat", tracks=tracks))


def found(engines: envoy_engines.Engines, *stables: str) -> dict[str, tuple[endpoints.Endpoint, ...]]:
    return {"chat/r-1": envoy_rig.at(*(engines[name].port for name in stables)), "chat/r-2": envoy_rig.at(engines["c1"].port)}


def used(engines: envoy_engines.Engines, in_use: int) -> set[str]:
    """Names of the stable's engines that are in use of all three."""
    track, places = half(in_use).lanes[0].tracks[0], found(engines, *STABLES)["chat/r-1"]
    ports = {place.port for place in set(places) - endpoints.standing_by(track, places)}
    return {name for name in STABLES if engines[name].port in ports}


async def asked(rig: envoy_rig.Rig, engines: envoy_engines.Engines, count: int = 100) -> set[str]:
    """Which engines such requests reach, all of which are answered."""
    before = {name: engine.served for name, engine in engines.by_name.items()}
    assert envoy_load.codes(await envoy_load.load(rig.url, count, 4)) == {200: count}
    return {name for name, engine in engines.by_name.items() if engine.served > before[name]}


async def test_only_engines_in_use_get_requests_and_a_change_of_their_number_loses_none() -> None:
    with envoy_engines.Engines(*STABLES, "c1") as engines:
        everything = found(engines, *STABLES)
        with envoy_rig.running(half(1), everything) as rig:
            assert await asked(rig, engines) == used(engines, 1) | {"c1"}
            async with envoy_load.steady(rig.url, 4, envoy_load.STREAM) as streams, envoy_load.steady(rig.url, 4, envoy_load.BODY) as answers:
                for in_use in (2, 3, None, 1, 2, 1):
                    assert (await asyncio.to_thread(rig.give, half(in_use), everything)).taken
                    await envoy_load.grown(answers, 20)
            assert {code for code, _, _ in streams + answers} == {200}
            assert {end.endswith("[DONE]\n\n") for _, _, end in streams} == {True}
            assert await asked(rig, engines) == used(engines, 1) | {"c1"}
            rig.give(half(None), everything)
            assert await asked(rig, engines) == {*STABLES, "c1"}


async def test_an_engine_in_use_that_leaves_is_replaced_without_a_check_of_the_next() -> None:
    with envoy_engines.Engines(*STABLES, "c1") as engines, envoy_rig.running(half(1), found(engines, *STABLES)) as rig:
        async with envoy_load.steady(rig.url, 4, envoy_load.BODY) as answers:
            await envoy_load.grown(answers, 50)
            left = [name for name in STABLES if name not in used(engines, 1)]
            assert (await asyncio.to_thread(rig.give, half(1), found(engines, *left))).taken
            await envoy_load.grown(answers, 50)
        assert {code for code, _, _ in answers} == {200}
        (second,) = used(engines, 2) - used(engines, 1)
        assert await asked(rig, engines) == {second, "c1"}


@pytest.mark.parametrize("mode", ["500", "503"])
async def test_an_engine_in_use_that_fails_is_replaced_by_envoy_itself(mode: str) -> None:
    with envoy_engines.Engines(*STABLES, "c1") as engines, envoy_rig.running(half(1), found(engines, *STABLES)) as rig:
        (first,) = used(engines, 1)
        engines[first].mode = mode
        reached = await asked(rig, engines, 200)
        assert reached == {*STABLES, "c1"}


async def test_what_a_failing_canary_leaves_goes_to_the_engines_that_stand_by() -> None:
    with envoy_engines.Engines(*STABLES, "c1") as engines, envoy_rig.running(half(1), found(engines, *STABLES)) as rig:
        engines["c1"].mode = "500"
        async with asyncio.timeout(20):
            while engines["c1"].served < 15:   # it is ejected at 20 and all requests are the stable's then
                await asked(rig, engines, 2)
        standing_by = {name for name in STABLES if name not in used(engines, 1)}
        assert sum(engines[name].served for name in standing_by) >= 15
