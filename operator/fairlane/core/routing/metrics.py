"""Names of what the router measures, as Prometheus sees them: the seam between Envoy's configuration and the judge's queries.

Envoy counts every try (also one that a retry hid from the client) once, under the revision that took it. Counters carry no `_total`:
Envoy adds none. Durations and the edges of their buckets (label `le`) are milliseconds.
"""

LANE = "fairlane_lane"             # the lane's name
REVISION = "fairlane_revision"     # the revision that took the try, "<hash>-<ordinal>"
CODE = "code"                      # HTTP status; 0: none was received
FLAGS = "flags"                    # Envoy's response flags, "-": none
SYNTHETIC = "fairlane_synthetic"   # "1": sent by Fairlane itself for a quiet lane (rollout.analysis.syntheticLoad); absent: a user's

# Names inside Envoy; `_PREFIX` and these make the exposed names below.
SCOPE = "fairlane"
TRIES_STAT, FAILURES_STAT, TTFT_STAT, DURATION_STAT, REQUESTS_STAT = "tries", "failures", "ttft", "duration", "requests"
SYNTHETIC_STAT = "synthetic_requests"
_PREFIX = f"envoy_{SCOPE}_"

TRIES = _PREFIX + TRIES_STAT
"""Counter [lane, revision, synthetic, code, flags]: tries of POSTs at an engine of the revision.

Not in it: what the lane's bound refused (429), what had no engine at all, and what the client left before an answer had begun.
"""

FAILURES = _PREFIX + FAILURES_STAT
"""Counter [lane, revision, synthetic, code, flags]: those of TRIES that failed.

5xx, refused or reset connections, streams broken after a 200, and answers that hung until the lane's time was over. sum(FAILURES) <= sum(TRIES)
for each revision; single series need not match (a hung stream is code 200, flags "-" in TRIES and "SI" or "UT" here).
"""

REQUESTS = _PREFIX + REQUESTS_STAT
"""Counter [lane, revision, code, flags]: answers as users saw them, those to synthetic requests left out; our own 429, 503 and 504 have no revision.

Flag DC: the client left; code 200 with another flag: a broken stream; code 429 with flag UO: refused by the lane's bound.
"""

SYNTHETIC_REQUESTS = _PREFIX + SYNTHETIC_STAT
"""Counter [lane, revision, code, flags]: answers to synthetic requests, which REQUESTS leaves out."""

TTFT = _PREFIX + TTFT_STAT
TTFT_BUCKET = TTFT + "_bucket"
"""Histogram [lane, revision, synthetic], ms: from sending the request to the engine until the first byte of the body, of event streams (200) alone."""

DURATION = _PREFIX + DURATION_STAT
DURATION_BUCKET = DURATION + "_bucket"
"""Histogram [lane, revision, synthetic], ms: from sending the request to the engine until the end of the body, of 200 tries to POSTs that ended whole."""

_DECADE = (10, 12, 14, 16, 18, 20, 23, 26, 30, 36, 42, 50, 60, 70, 84)
BUCKETS_MS = tuple(edge for edge in (step * 10**power for power in range(5) for step in _DECADE) if edge <= 600_000)
"""Edges of both histograms: 10 ms to 10 min, no step over a fifth: a p99 that moves by a fifth changes its bucket. Two digits: Envoy keeps those exact."""
