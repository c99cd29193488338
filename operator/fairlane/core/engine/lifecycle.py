"""How an engine's pod starts, is watched and ends."""

from typing import Any

from .. import names
from . import command, versions

ENDPOINT_REMOVAL_SECONDS = 10   # until no router sends anything new: vLLM answers new requests with 500 once it drains
LOADING_SECONDS = 7200          # a constant: an edit of rollout.loadDeadline, which ends a hopeless canary long before, must make no revision
_KILL_SECONDS = 60              # how long a loading engine is told to end; until it has its handlers (imports), process 1 ignores the signal
_TEARDOWN_SECONDS = 15


def probes() -> dict[str, Any]:
    """Return the probes. vLLM listens only when it has loaded; its /health is 503 once the engine has died, and then it ends by itself."""
    health = {"path": "/health", "port": "http"}
    return {
        "startupProbe": {"httpGet": health, "periodSeconds": 5, "timeoutSeconds": 2, "failureThreshold": LOADING_SECONDS // 5},
        "readinessProbe": {"httpGet": health, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 2},
        "livenessProbe": {"httpGet": health, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": 6},
    }


def grace_seconds(drain_seconds: int) -> int:
    """Return the pod's grace period: endpoint removal, drain, teardown."""
    return ENDPOINT_REMOVAL_SECONDS + drain_seconds + _TEARDOWN_SECONDS


def pre_stop(version: versions.Version, drain_seconds: int) -> dict[str, Any]:
    """Return the hook that runs before SIGTERM.

    A loading engine swallows the first SIGTERM and would hold its GPU for the whole grace period: the hook sends until one kills.
    Before --shutdown-timeout SIGTERM cuts what runs: there the hook waits until nothing does.
    """
    return {"exec": {"command": ["python3", "-ISc", script(version, drain_seconds)]}}


def script(
    version: versions.Version, drain_seconds: int, *,
    engine: int = 1, port: int = names.ENGINE_PORT, removal_seconds: int = ENDPOINT_REMOVAL_SECONDS, poll_seconds: float = 1,
) -> str:
    """Return the hook's program for the engine with this process id and port; in its container it is process 1."""
    text = _SCRIPT + (_WAIT_FOR_RUNNING if version < command.SHUTDOWN_TIMEOUT_SINCE else "")
    return text.format(engine=engine, port=port, kill=_KILL_SECONDS, removal=removal_seconds, drain=drain_seconds, poll=poll_seconds)


# Only a refused connection means loading: a busy server may be slow to answer and must not be signalled before the routers have let go.
_SCRIPT = """\
import os, signal, socket, time
end = time.monotonic() + {kill}
while time.monotonic() < end:
    try:
        socket.create_connection(("127.0.0.1", {port}), 2).close()
    except ConnectionRefusedError:
        os.kill({engine}, signal.SIGTERM)
        time.sleep({poll})
    except OSError:
        break
    else:
        break
else:
    raise SystemExit
time.sleep({removal})
"""

_WAIT_FOR_RUNNING = """\
import re, urllib.request
end = time.monotonic() + {drain}
while time.monotonic() < end:
    try:
        text = urllib.request.urlopen("http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
    except OSError:
        text = ""
    counts = re.findall(r"^vllm:num_requests_(?:running|waiting)(?:{{.*}})? (\\S+)$", text, re.M)
    if counts and not any(map(float, counts)):
        break
    time.sleep({poll})
"""
