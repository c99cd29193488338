"""Simulate everything, keep the results, write the tables and the plot of docs/judge.md. Exits with 1 where something that is promised does not hold."""

import argparse
import concurrent.futures
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from . import cases, checks, parity, plot, summary, tables, trials

_CHUNK = 250            # rollouts at a time: their arrays stay in the cache
_SAY = 3.0              # seconds between two lines
_PARITY_ROWS, _PARITY_TICKS = 200, 45

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")


def main() -> int:
    """Run the command line."""
    arguments = argparse.ArgumentParser(prog="python -m bench.judge", description=__doc__)
    arguments.add_argument("--tables", action="store_true", help="write the tables and the plot again from results.json")
    if not arguments.parse_args().tables:
        summary.write(simulated(cases.WHOLE, _PARITY_ROWS))
    results = summary.read()
    tables.write(results)
    plot.write(results)
    return _report(results)


def simulated(sizes: cases.Sizes, parity_rows: int) -> summary.Results:
    """Run all cases on all cores."""
    began = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        cells = _cells(pool, cases.cases(sizes))
        same = _parity(pool, parity_rows)
    print(f"all done in {time.monotonic() - began:.0f} s", flush=True)
    return summary.Results(trials.SEED, cells, same)


def _cells(pool: concurrent.futures.Executor, wanted: list[trials.Case]) -> list[summary.Cell]:
    parts = [(index, chunk, min(_CHUNK, case.rows - chunk * _CHUNK)) for index, case in enumerate(wanted) for chunk in range(-(-case.rows // _CHUNK))]
    futures = {pool.submit(trials.run, wanted[index], chunk, rows): (index, chunk) for index, chunk, rows in parts}
    found: dict[tuple[int, int], trials.Outcomes] = {}
    for future in _told(futures, lambda done: wanted[done[0]].name):
        found[futures[future]] = future.result()
    chunks = [[found[index, chunk] for own, chunk, _ in parts if own == index] for index in range(len(wanted))]
    return [summary.cell(case, trials.join(outcomes)) for case, outcomes in zip(wanted, chunks, strict=True)]


def _parity(pool: concurrent.futures.Executor, rows: int) -> summary.Parity:
    """Compare the arrays with the product's own code."""
    each = 20
    kinds = [(setting, part) for setting in parity.kinds() for part in range(rows // each)]
    futures = {pool.submit(parity.compare, setting, each, _PARITY_TICKS, part): (setting.harm.name, part) for setting, part in kinds}
    mismatches = [mismatch for future in _told(futures, lambda done: f"the product's code, {done[0]}") for mismatch in future.result()]
    for mismatch in mismatches[:10]:
        print(f"differs: {mismatch}")
    return summary.Parity(len(kinds) * each, len(kinds) * each * _PARITY_TICKS, len(mismatches))


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


def _report(results: summary.Results) -> int:
    """Say what does not hold."""
    broken = [*checks.over_budget(results), *checks.unlike_published(results)]
    broken += [f"{results.parity.mismatches} of {results.parity.runs} runs differ from the product's code"] if results.parity.mismatches else []
    broken += [f"sooner than Fairlane: {tables.sooner(cell, peer)}" for cell, peer in checks.sooner(results)]
    for line in broken:
        print(line, file=sys.stderr)
    print("everything promised holds" if not broken else f"{len(broken)} promises do not hold", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
