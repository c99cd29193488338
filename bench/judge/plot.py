"""The plot of docs/judge.md."""

import math
import pathlib
from typing import Any

import matplotlib
from matplotlib import pyplot

from . import cases, peers, summary, trials
from .traffic import Noise

PICTURE = pathlib.Path(__file__).parents[2] / "docs" / "img" / "judge.svg"
_METHODS = {
    trials.FAIRLANE: ("Fairlane", "#1b7f3b"),
    peers.FLAGGER: ("Flagger, threshold 5", "#b3261e"),
    peers.ARGO: ("Argo Rollouts, failureLimit 3", "#e08a1e"),
    peers.KAYENTA: ("Kayenta, after 30 min", "#4a6fa5"),
}
_HARMS = (cases.HARMS[3].name, cases.HARMS[6].name)      # one request in five slow; one in two fails
_LEAST = 1e-4           # shares below are drawn here
_STYLE: dict[Any, Any] = {"svg.hashsalt": "fairlane", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}


def write(results: summary.Results) -> None:
    """Draw it."""
    with matplotlib.rc_context(_STYLE):
        figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
        _alarms(axes[0], results)
        for axis, harm in zip(axes[1:], _HARMS, strict=True):
            _times(axis, results, harm)
        for axis in axes:
            axis.set_xlabel("requests/s of the lane")
            axis.set_xticks(cases.RATES, [f"{rate:g}" for rate in cases.RATES])
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        PICTURE.parent.mkdir(exist_ok=True)
        figure.savefig(PICTURE, format="svg", metadata={"Date": None})
        pyplot.close(figure)


def _alarms(axis: matplotlib.axes.Axes, results: summary.Results) -> None:
    """The worst noise of each rate."""
    for method, (name, colour) in _METHODS.items():
        worst = [
            max(cell.share(method) for cell in results.healthy() if cell.rate == rate and cell.noise != Noise.POD_MARKOV)
            for rate in cases.RATES
        ]
        axis.plot(cases.RATES, [100 * max(share, _LEAST) for share in worst], marker="o", color=colour, label=name)
    axis.axhline(100 * trials.RATE, color="#777777", linestyle=":")
    axis.set(xscale="log", yscale="log", title="healthy canaries rolled back within the hour,\nworst noise", ylabel="%")


def _times(axis: matplotlib.axes.Axes, results: summary.Results, harm: str) -> None:
    """Median time to the rollback, where half are rolled back within the hour."""
    cells = [cell for cell in results.harmed() if cell.harm == harm and cell.noise == Noise.IID and not cell.onset]
    for method, (_, colour) in _METHODS.items():
        times = [math.nan if (seconds := cell.methods[method].seconds) is None else seconds for cell in cells]
        axis.plot([cell.rate for cell in cells], times, marker="o", color=colour)
    axis.set(xscale="log", yscale="log", title=f"{harm}:\nmedian seconds to the rollback", ylabel="s", ylim=(5, 4000))
