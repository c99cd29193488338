"""Run cases on all cores, and say how far it is."""

import concurrent.futures
import os
import pathlib
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from . import cases, kept, parity, summary, trials

_CHUNK = 250            # rollouts at a time: their arrays stay in the cache
_PARITY_CHUNK = 20
_SAY = 3.0              # seconds between two lines

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")


def simulated(sizes: cases.Sizes, compared: tuple[int, int], folder: pathlib.Path) -> summary.Results:
    """Run all cases, and compare with the product's code: so many rollouts of every kind, so many ticks. `folder` keeps what is done."""
    began = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        cells = _cells(pool, cases.cases(sizes), folder)
        same = _parity(pool, *compared, folder)
    print(f"all done in {time.monotonic() - began:.0f} s", flush=True)
    return summary.Results(trials.SEED, cells, same)


def _cells(pool: concurrent.futures.Executor, wanted: list[trials.Case], folder: pathlib.Path) -> list[summary.Cell]:
    parts = [(index, chunk, min(_CHUNK, case.rows - chunk * _CHUNK)) for index, case in enumerate(wanted) for chunk in range(-(-case.rows // _CHUNK))]
    futures = {pool.submit(kept.call, folder, trials.run, wanted[index], chunk, rows): (index, chunk) for index, chunk, rows in parts}
    found: dict[tuple[int, int], trials.Outcomes] = {}
    for future in _told(futures, lambda done: wanted[done[0]].name):
        found[futures[future]] = future.result()
    chunks = [[found[index, chunk] for own, chunk, _ in parts if own == index] for index in range(len(wanted))]
    return [summary.cell(case, trials.join(outcomes)) for case, outcomes in zip(wanted, chunks, strict=True)]


def _parity(pool: concurrent.futures.Executor, rows: int, ticks: int, folder: pathlib.Path) -> summary.Parity:
    """Compare the arrays with the product's own code."""
    chunk = min(rows, _PARITY_CHUNK)
    parts = [(setting, part) for setting in parity.kinds() for part in range(rows // chunk)]
    futures = {pool.submit(kept.call, folder, parity.compare, setting, chunk, ticks, part): (setting.harm.name, part) for setting, part in parts}
    compared = [future.result() for future in _told(futures, lambda done: f"the product's code, {done[0]}")]
    mismatches = [mismatch for each in compared for mismatch in each.mismatches]
    for mismatch in mismatches[:10]:
        print(f"differs: {mismatch}", flush=True)
    return summary.Parity(len(parts) * chunk, sum(each.verdicts for each in compared), len(mismatches))


def _told(futures: dict[concurrent.futures.Future[_Result], _Key], name: Callable[[_Key], str]) -> Iterable[concurrent.futures.Future[_Result]]:
    """Yield what is done as it is, and say how far it is."""
    began = said = time.monotonic()
    for number, future in enumerate(concurrent.futures.as_completed(futures), start=1):
        yield future
        now = time.monotonic()
        if now - said > _SAY or number == len(futures):
            left = (now - began) / number * (len(futures) - number)
            print(f"{now - began:4.0f} s, {number} of {len(futures)} parts, about {left:.0f} s left: {name(futures[future])}", flush=True)
            said = now
