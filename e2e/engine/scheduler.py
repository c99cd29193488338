"""A model of vLLM's scheduler: steps with a token budget, decodes first, prefill in chunks; what a flag does to latency, it does here."""
from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import deque
from collections.abc import Iterable

from .config import Config
from .metrics import Metrics


@dataclasses.dataclass(eq=False)
class Request:
    """One request in the engine; `tokens` gets True for each token, then False where the engine ended it, None at its end."""

    prompt: int
    outputs: int
    arrived: float
    prefilled: int = 0
    produced: int = 0
    scheduled: float | None = None
    first: float | None = None
    last: float = 0.0
    tokens: asyncio.Queue[bool | None] = dataclasses.field(default_factory=asyncio.Queue)


def allot(running: Iterable[Request], budget: int) -> dict[Request, int]:
    """Tokens of the next step: one for each request that decodes, what is left to prefills in order of arrival."""
    running = list(running)
    decoding = [request for request in running if request.prefilled >= request.prompt]
    share = dict.fromkeys(decoding[:budget], 1)
    left = budget - len(share)
    for request in running:
        if left and request.prefilled < request.prompt:
            share[request] = min(left, request.prompt - request.prefilled)
            left -= share[request]
    return share


class Scheduler:
    """The engine's loop."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self.peak = 0

    @property
    def in_flight(self) -> int:
        return len(self._waiting) + len(self._running)

    def submit(self, prompt: int, outputs: int) -> Request:
        request = Request(max(prompt, 1), outputs, time.monotonic())
        self._waiting.append(request)
        self._metrics.add("vllm:prompt_tokens_total", request.prompt)
        self.peak = max(self.peak, self.in_flight)
        self.idle.clear()
        self._wake.set()
        return request

    def leave(self, request: Request) -> None:
        """The client is gone or the request is done: its place is free."""
        if request in self._waiting:
            self._waiting.remove(request)
        if request in self._running:
            self._running.remove(request)
        if not self.in_flight:
            self.idle.set()

    def abort(self) -> None:
        """End all that runs as vLLM's engine does when it is killed."""
        for request in [*self._waiting, *self._running]:
            request.tokens.put_nowait(False)
            self.leave(request)

    async def run(self) -> None:
        while True:
            if not self.in_flight:
                self._gauges()
                self._wake.clear()
                await self._wake.wait()
            self._admit()
            share = allot(self._running, self._config.max_num_batched_tokens)
            tokens = sum(share.values())
            await asyncio.sleep(self._config.step_seconds + tokens * self._config.token_seconds)
            self._metrics.observe("vllm:iteration_tokens_total", tokens)
            for request, amount in share.items():
                self._advance(request, amount)
            self._gauges()

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._config.max_num_seqs:
            request = self._waiting.popleft()
            request.scheduled = time.monotonic()
            self._running.append(request)

    def _advance(self, request: Request, amount: int) -> None:
        if request not in self._running:  # left during the step
            return
        now = time.monotonic()
        if request.prefilled < request.prompt:
            request.prefilled += amount
            if request.prefilled < request.prompt:
                return
            request.first = now
            self._metrics.observe("vllm:time_to_first_token_seconds", now - request.arrived)
        else:
            self._metrics.observe("vllm:inter_token_latency_seconds", now - request.last)
        request.last = now
        request.produced += 1
        self._metrics.add("vllm:generation_tokens_total")
        request.tokens.put_nowait(True)
        if request.produced >= request.outputs:
            self._finish(request, now)

    def _finish(self, request: Request, now: float) -> None:
        self.leave(request)
        request.tokens.put_nowait(None)
        scheduled, first = request.scheduled or now, request.first or now
        for name, value in {
            "e2e_request_latency": now - request.arrived, "request_queue_time": scheduled - request.arrived, "request_inference_time": now - scheduled,
            "request_prefill_time": first - scheduled, "request_decode_time": now - first,
            "request_time_per_output_token": (now - first) / max(request.produced - 1, 1),
        }.items():
            self._metrics.observe(f"vllm:{name}_seconds", value)
        for name, count in {
            "prompt_tokens": request.prompt, "generation_tokens": request.produced, "max_num_generation_tokens": request.outputs, "params_n": 1,
            "params_max_tokens": request.outputs, "num_preemptions": 0, "prefill_kv_computed_tokens": request.prompt,
        }.items():
            self._metrics.observe(f"vllm:request_{name}", count)
        self._metrics.add("vllm:request_success_total", 1, 'finished_reason="length"')

    def _gauges(self) -> None:
        self._metrics.set("vllm:num_requests_running", len(self._running))
        self._metrics.set("vllm:num_requests_waiting", len(self._waiting))
