"""What explains a tick: engines, GPUs, what retries hid."""

import pytest

from fairlane.core.judge import context, samples, types

Sample = samples.Sample


def counted(name: str, value: float, **labels: str) -> Sample:
    return Sample({"__name__": name, "pod": "p-1", **labels}, value)


@pytest.mark.parametrize(
    ("engine", "gauges", "gpus", "expected"),
    [
        pytest.param([], [], [], types.Context(), id="nothing is there"),
        pytest.param(
            [
                counted("vllm:prefix_cache_queries_total", 1000),
                counted("vllm:prefix_cache_hits_total", 400),
                counted("vllm:num_preemptions_total", 2),
                counted("vllm:generation_tokens_total", 9000),
                counted("vllm:iteration_tokens_total_count", 1200),
                counted("vllm:request_success_total", 30, finished_reason="stop"),
                counted("vllm:request_success_total", 3, finished_reason="abort"),
                counted("vllm:request_success_total", 7, finished_reason="stop", engine="1"),
            ],
            [
                counted("vllm:num_requests_running", 5),
                counted("vllm:num_requests_waiting", 2),
                counted("vllm:kv_cache_usage_perc", 0.5),
                counted("vllm:kv_cache_usage_perc", 0.7, engine="1"),
            ],
            [],
            types.Context(7, 1000, 400, 2, 9000, 1200, {"stop": 37, "abort": 3}, kv_use=0.6),
            id="a current vLLM",
        ),
        pytest.param(
            [counted("vllm:gpu_prefix_cache_queries_total", 1000), counted("vllm:gpu_prefix_cache_hits_total", 400)],
            [counted("vllm:gpu_cache_usage_perc", 0.25)],
            [],
            types.Context(prefix_queries=1000, prefix_hits=400, kv_use=0.25),
            id="a vLLM before 0.9.2",
        ),
        pytest.param(
            [],
            [],
            [
                counted("DCGM_FI_DEV_GPU_UTIL", 75, gpu="0"),
                counted("DCGM_FI_DEV_GPU_UTIL", 25, gpu="1"),
                counted("DCGM_FI_DEV_FB_USED", 60_000, gpu="0"),
                counted("DCGM_FI_DEV_FB_FREE", 20_000, gpu="0"),
                counted("DCGM_FI_DEV_FB_USED", 40_000, gpu="1"),
                counted("DCGM_FI_DEV_FB_FREE", 40_000, gpu="1"),
                counted("DCGM_FI_DEV_FB_USED", 40_000, gpu="2"),
            ],
            types.Context(gpu_utilization=0.5, gpu_memory=0.625),
            id="two GPUs, and one of which the free memory is not told",
        ),
        pytest.param(
            [counted("vllm:generation_tokens_total", 9000), counted("vllm:generation_tokens_total", 0, pod="p-2")],
            [
                counted("vllm:num_requests_running", 5),
                counted("vllm:num_requests_running", 1, pod="p-2"),
                counted("vllm:kv_cache_usage_perc", 0.5),
                counted("vllm:kv_cache_usage_perc", 0.0, pod="p-2"),
            ],
            [
                counted("DCGM_FI_DEV_GPU_UTIL", 80, pod="exporter-1", exported_pod="p-1"),
                counted("DCGM_FI_DEV_GPU_UTIL", 0, pod="exporter-1", exported_pod="p-2"),
            ],
            types.Context(6, generated=9000, kv_use=0.5, gpu_utilization=0.8),
            id="a pod that stands by beside one that works",
        ),
    ],
)
def test_context(engine: list[Sample], gauges: list[Sample], gpus: list[Sample], expected: types.Context) -> None:
    assert context.context(engine, gauges, gpus, 0.0, 0.0) == expected


def answer(name: str, revision: str, count: float, code: str = "503", flags: str = "-") -> Sample:
    return Sample({"__name__": f"envoy_fairlane_{name}", "fairlane_revision": revision, "code": code, "flags": flags}, count)


@pytest.mark.parametrize(
    ("tries", "expected"),
    [
        pytest.param([answer("failures", "new", 10)], (0, 10), id="no client saw any"),
        pytest.param([answer("failures", "new", 10), answer("requests", "new", 4)], (0, 6), id="some reached the client"),
        pytest.param(
            [answer("failures", "new", 10), answer("requests", "new", 4, "200", "UC"), answer("requests", "new", 90, "200")],
            (0, 6),
            id="a stream that broke inside a 200 reached the client",
        ),
        pytest.param(
            [answer("failures", "old", 5), answer("failures", "new", 15), answer("requests", "-", 4, "503", "UF")],
            (4, 12),
            id="what Envoy answered itself is shared out",
        ),
        pytest.param(
            [answer("failures", "new", 10), Sample({"__name__": "envoy_fairlane_failures", "fairlane_revision": "new", "fairlane_synthetic": "1"}, 7)],
            (0, 10),
            id="a synthetic request has no client",
        ),
        pytest.param([answer("failures", "new", 1), answer("requests", "new", 3)], (0, 0), id="never less than none"),
        pytest.param([answer("requests", "-", 3, "503", "UH")], (0, 0), id="an answer without any try hides nothing"),
        pytest.param([answer("failures", "new", 2), answer("requests", "new", 1, "200", "DC")], (0, 2), id="a client that left saw no failure"),
    ],
)
def test_what_a_retry_hid(tries: list[Sample], expected: tuple[float, float]) -> None:
    assert context.hidden(tries, ("old", "new")) == expected


def test_requests_that_the_client_left() -> None:
    tries = [
        answer("requests", "new", 2, "200", "DC"),
        answer("requests", "new", 3, "0", "UC,DC"),
        answer("requests", "new", 5, "200", "UC"),
        answer("requests", "old", 7, "200", "DC"),
        answer("tries", "new", 11, "200", "DC"),
    ]
    assert context.aborted(tries, "new") == 5
