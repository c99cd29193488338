"""Simulate everything, keep the results, write the tables and the plot of docs/judge.md. Exits with 1 where something that is promised does not hold."""

import argparse
import sys

from . import cases, checks, kept, plot, running, summary, tables

_COMPARED = 200, 36     # rollouts of every kind and ticks, with the product's code


def main() -> int:
    """Run the command line."""
    arguments = argparse.ArgumentParser(prog="python -m bench.judge", description=__doc__)
    arguments.add_argument("--tables", action="store_true", help="write the tables and the plot again from results.json")
    if not arguments.parse_args().tables:
        summary.write(running.simulated(cases.WHOLE, _COMPARED, kept.FOLDER))
    results = summary.read()
    tables.write(results)
    plot.write(results)
    return _report(results)


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
