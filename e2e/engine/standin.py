"""`vllm serve MODEL --flags…` of the stand-in: loads for a while, serves, drains on SIGTERM. Exit codes as vLLM's (2 bad flag, 1 refused at start, 0 ended)."""
from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable

from aiohttp import web

from . import api, config, metrics, scheduler


def main(arguments: list[str], environment: dict[str, str]) -> int:
    if arguments[:1] != ["serve"]:
        print("usage: vllm serve MODEL [options]", file=sys.stderr)
        return 2
    try:
        settings = config.read(arguments[1:], environment)
    except config.RefusedError as error:
        print(f"ValueError: {error}", file=sys.stderr, flush=True)
        return 1
    return asyncio.run(_run(settings))


async def _run(settings: config.Config) -> int:
    ending = _signals()
    cache = await _load(settings)
    series = metrics.Metrics(settings.model, settings.max_model_len)
    engine = scheduler.Scheduler(settings, series)
    server = api.Api(settings, series, engine)
    loop = asyncio.create_task(engine.run())
    runner = web.AppRunner(server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=2)
    await runner.setup()
    await web.TCPSite(runner, settings.host, settings.port).start()
    print(f"Application startup complete. {len(cache)} bytes of cache.", flush=True)
    await _first(ending.wait(), server.errored.wait(), loop)
    if server.errored.is_set():
        await asyncio.sleep(0.5)  # long enough for /health to say 503
        engine.abort()
    else:
        await server.drain()
    loop.cancel()
    await runner.cleanup()
    return 0


def _signals() -> asyncio.Event:
    """The end is asked for once it serves; while it loads the first SIGTERM is swallowed and the second ends it, as vLLM's."""
    ending = asyncio.Event()
    seen: list[int] = []

    def on_term() -> None:
        seen.append(1)
        if _loading and len(seen) > 1:
            os._exit(130)
        if not _loading:
            ending.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, on_term)
    loop.add_signal_handler(signal.SIGINT, on_term)
    return ending


_loading: list[bool] = []


async def _load(settings: config.Config) -> bytearray:
    """The time a model takes to load; returns the memory of its cache, really taken so that a limit kills the container."""
    _loading.append(True)
    cache = bytearray()
    page = b"\x01" * 2**20
    for _ in range(settings.kv_cache_memory_bytes // 2**20):
        cache += page
    await asyncio.sleep(settings.load_seconds)
    _loading.clear()
    return cache


async def _first(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
