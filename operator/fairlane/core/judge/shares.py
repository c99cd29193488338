"""The metrics' names, and the words for shares, times, rates and e-values."""

import math

NAMES = {
    "ttft": "TTFT",
    "router_ttft": "TTFT at the router",
    "itl": "ITL",
    "tpot": "TPOT",
    "queue": "Queue time",
    "e2e": "E2E",
    "router_duration": "Duration at the router",
    "errors": "Errors",
    "hangs": "Hangs",
}
TAILS = ("ttft", "router_ttft", "itl", "tpot", "queue", "e2e", "router_duration")   # in the order in which they are told


def share(hits: float, total: float) -> float:
    """Of all; 0 of none."""
    return hits / total if total > 0 else 0.0


def percent(value: float) -> str:
    """A share as people read it."""
    scaled = value * 100
    if 0 < scaled < 0.095:
        return f"{scaled:.1g} %"
    return f"{scaled:.0f} %" if scaled >= 9.95 else f"{scaled:.1f} %"


def seconds(value: float) -> str:
    """A time as people read it."""
    return f"{value:g} s" if value >= 0.1 else f"{value * 1000:g} ms"


def e_value(log_e: float) -> str:
    """An e-value by its logarithm: three digits, from a thousand on with its power of ten."""
    power = math.floor(log_e / math.log(10)) if math.isfinite(log_e) else 0
    if power < 3:
        return f"{math.exp(log_e):.3g}" if power > -4 else "0"
    return f"{math.exp(log_e - power * math.log(10)):.1f}e{power}"


def once_in(log_e: float) -> str:
    """How rare evidence of such strength is: 12,000."""
    power = math.floor(log_e / math.log(10))
    return f"{float(f'{math.exp(log_e):.2g}'):,.0f}" if power < 9 else f"10^{power}"
