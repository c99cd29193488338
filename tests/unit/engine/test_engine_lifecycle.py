"""How an engine ends: the preStop program, run against processes and servers that behave as vLLM does."""

import contextlib
import http.server
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from fairlane.core.engine import lifecycle, versions

NEW, OLD = versions.Version(0, 32, 0), versions.Version(0, 16, 0)

# vLLM while it loads: the first SIGTERM is swallowed, the second kills.
LOADING = """
import signal, time
def second(*_): raise SystemExit(130)
def first(*_): signal.signal(signal.SIGTERM, second)
signal.signal(signal.SIGTERM, first)
print("up", flush=True)
time.sleep(60)
"""
IDLE = "import time; print('up', flush=True); time.sleep(60)"


@contextlib.contextmanager
def process(program: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        try:
            yield running
        finally:
            running.kill()


@contextlib.contextmanager
def metrics(counts: list[int]) -> Iterator[int]:
    """A server whose /metrics says one count of running requests after the other; yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running = counts.pop(0)
            body = f'vllm:num_requests_running{{engine="0",model_name="m"}} {running}.0\nvllm:num_requests_waiting{{engine="0"}} 0.0\n'.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silence."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()


def run(script: str) -> int:
    return subprocess.run([sys.executable, "-ISc", script], capture_output=True, timeout=20, check=False).returncode


def test_a_loading_engine_is_told_until_it_ends() -> None:
    with socket.socket() as closed, process(LOADING) as engine:
        closed.bind(("127.0.0.1", 0))   # as vLLM: bound, not listening
        script = lifecycle.script(NEW, 60, engine=engine.pid, port=closed.getsockname()[1], removal_seconds=0, poll_seconds=0.02)
        hook = subprocess.Popen([sys.executable, "-ISc", script], stderr=subprocess.DEVNULL)
        try:
            assert engine.wait(timeout=10) == 130
        finally:
            hook.kill()
            hook.wait()


def test_a_serving_engine_gets_no_signal_from_the_hook() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, process(IDLE) as engine:
        assert run(lifecycle.script(NEW, 60, engine=engine.pid, port=server.getsockname()[1], removal_seconds=0, poll_seconds=0.02)) == 0
        assert engine.poll() is None


def test_before_shutdown_timeout_the_hook_waits_until_nothing_runs() -> None:
    counts = [2, 0, 9]
    with metrics(counts) as port, process(IDLE) as engine:
        assert run(lifecycle.script(OLD, 60, engine=engine.pid, port=port, removal_seconds=0, poll_seconds=0.02)) == 0
    assert counts == [9]


def test_the_wait_ends_at_its_deadline() -> None:
    with metrics([1] * 1000) as port, process(IDLE) as engine:
        assert run(lifecycle.script(OLD, 1, engine=engine.pid, port=port, removal_seconds=0, poll_seconds=0.02)) == 0


@pytest.mark.parametrize(("version", "polls"), [(OLD, True), (versions.Version(0, 17, 1), True), (versions.Version(0, 18, 0), False), (NEW, False)])
def test_the_hook_polls_only_where_vllm_cannot_drain(version: versions.Version, polls: bool) -> None:
    assert polls == ("/metrics" in lifecycle.script(version, 60))
