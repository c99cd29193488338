"""The sender's process: `python -m fairlane load`. It knows no cluster: two folders are all it sees."""

import asyncio
import logging
import os
import pathlib
import random
import signal
import sys

from ..core.load import document
from . import sender


def run() -> int:
    """Send until SIGTERM; return the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    folder, scratch = (pathlib.Path(os.environ.get(name, default)) for name, default in (
        ("FAIRLANE_LOAD_DIR", document.FOLDER), ("FAIRLANE_RUN_DIR", document.SCRATCH),
    ))
    return asyncio.run(_main(sender.Sender(folder, scratch, random.Random())))


async def _main(sending: sender.Sender) -> int:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    work, stopping = asyncio.create_task(sending.run()), asyncio.create_task(stopped.wait())
    await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        work.result()   # it never ends but by an error: Kubernetes starts it again
    work.cancel()       # requests in flight are left: nobody waits for their answers
    stopping.cancel()
    await asyncio.gather(work, stopping, return_exceptions=True)
    return 0
