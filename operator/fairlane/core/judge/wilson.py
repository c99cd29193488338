"""Wilson's score bounds of a share.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212;
the form is equation 4 of Brown, Cai & DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16 (2001) 101-133.
"""

import math
from statistics import NormalDist

CONFIDENCE = 0.99
_Z = NormalDist().inv_cdf(CONFIDENCE)   # one-sided: each bound alone holds with 99 %


def lower(hits: float, total: float) -> float:
    """The share is above this with 99 % confidence; 0 without samples."""
    return _bound(hits, total, -1.0) if total > 0 else 0.0


def upper(hits: float, total: float) -> float:
    """The share is below this with 99 % confidence; 1 without samples."""
    return _bound(hits, total, 1.0) if total > 0 else 1.0


def _bound(hits: float, total: float, sign: float) -> float:
    share = min(max(hits / total, 0.0), 1.0)
    squared = _Z * _Z / total
    middle = share + squared / 2
    margin = _Z * math.sqrt(share * (1 - share) / total + squared / (4 * total))
    return min(max((middle + sign * margin) / (1 + squared), 0.0), 1.0)
