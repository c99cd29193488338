"""Real vLLM on machines that differ: its flags, and how many requests it gets."""
from __future__ import annotations

import pytest
from e2e.cluster import vllm_env
from e2e.scenarios import vllm


@pytest.mark.parametrize(
    ("seconds", "share"),
    [
        pytest.param([0.33] * 8, 1.0, id="a third of a second: the usual rate"),
        pytest.param([0.05] * 8, 1.0, id="a faster machine gets no more"),
        pytest.param([0.66] * 8, 0.5, id="twice as slow: half of it"),
        pytest.param([9.0, 0.66, 0.66], 0.5, id="the first one warms up"),
    ],
)
def test_the_share_of_the_usual_rates(seconds: list[float], share: float) -> None:
    assert vllm.share(seconds) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("cpu", "dtype"),
    [
        pytest.param("flags\t\t: fpu avx2 avx512f avx512_bf16 amx_bf16", "bfloat16", id="it multiplies bfloat16"),
        pytest.param("flags\t\t: fpu avx2 fma f16c", "float32", id="it knows float32 only"),
        pytest.param("flags\t\t: fpu avx2 avx512f", "float32", id="wide, but without bfloat16"),
    ],
)
def test_the_engine_computes_in_what_the_cpu_knows(cpu: str, dtype: str) -> None:
    assert vllm_env.flags(cpu)["dtype"] == dtype
