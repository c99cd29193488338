"""The timeline as a picture."""
from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib import ticker
from matplotlib.figure import Figure

from .record import Moment, Run, Sample

matplotlib.use("Agg")
STABLE, CANARY, WEIGHT = "#2a6f97", "#d1495b", "#e9c46a"


def png(run: Run, lane: str) -> bytes:
    """One lane's weight, p99 of both tracks, and what happened, over time."""
    samples = [sample for sample in run.samples if sample.lane == lane]
    figure = Figure(figsize=(13, 7), dpi=110, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    _latency(upper, samples)
    _weight(lower, samples)
    _moments(upper, lower, run.moments)
    upper.set_title(f"lane {lane}: time to first token as users saw it, p99 of the last 90 s")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _latency(axes: Any, samples: Sequence[Sample]) -> None:
    for label, colour, values in (
        ("stable p99", STABLE, [sample.stable_p99 for sample in samples]),
        ("canary p99", CANARY, [sample.canary_p99 for sample in samples]),
    ):
        axes.plot([sample.at for sample in samples], [float("nan") if value is None else value for value in values], label=label, color=colour, linewidth=1.8)
    axes.set_ylabel("seconds")
    axes.set_yscale("log")
    for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        which(ticker.FormatStrFormatter("%.2g"))
    axes.grid(alpha=0.3, which="both")
    axes.legend(loc="lower right")


def _weight(axes: Any, samples: Sequence[Sample]) -> None:
    times = [sample.at for sample in samples]
    axes.fill_between(times, [sample.weight for sample in samples], step="post", color=WEIGHT, alpha=0.8)
    axes.set_ylabel("canary weight, %")
    axes.set_ylim(0, 105)
    axes.set_xlabel("seconds")
    axes.grid(alpha=0.3)


def _moments(upper: Any, lower: Any, moments: Sequence[Moment]) -> None:
    """Acts as dotted lines with their names, failed requests as red ones."""
    for moment in moments:
        if moment.kind == "failure":
            upper.axvline(moment.at, color="#ff0000", linewidth=0.6)
    acts = [moment for moment in moments if moment.kind == "act"]
    for number, act in enumerate(acts):
        for axes in (upper, lower):
            axes.axvline(act.at, color="#555555", linewidth=0.8, linestyle=":")
        end = acts[number + 1].at if number + 1 < len(acts) else act.at + 60
        if end - act.at > 20:  # the name has room beside its line
            place = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top", "ha": "left"}
            upper.annotate(f" {act.text[:48]}", (act.at, 0.99), fontsize=8, color="#555555", **place)
