"""One synthetic request: a streamed completion of random words."""

import random
import uuid
from typing import Any

import httpx

from ..core import words
from ..core.load import document, lengths

ID_PREFIX = "fairlane-synthetic-"
MARK = "x-fairlane-synthetic"
PATH = "/v1/completions"     # needs no chat template, which not every model has


def body(load: document.Load, chance: random.Random) -> dict[str, Any]:
    """Return a request of drawn lengths. New words from the first on: no prefix cache knows it. The answer has its length whatever the model would say."""
    prompt = chance.choices(words.WORDS, k=lengths.drawn(load.prompt_tokens, chance.random()))
    answer = lengths.drawn(load.output_tokens, chance.random())
    return {"model": load.model, "prompt": " ".join(prompt), "max_tokens": answer, "stream": True, "ignore_eos": True}


async def send(client: httpx.AsyncClient, load: document.Load, chance: random.Random) -> tuple[int, str]:
    """Send one and read its answer to the end; return its status, 0 where there was none or it broke, and what was wrong."""
    headers = {MARK: load.key, "x-request-id": f"{ID_PREFIX}{uuid.UUID(int=chance.getrandbits(128))}"}
    try:
        async with client.stream("POST", f"{load.url}{PATH}", json=body(load, chance), headers=headers) as response:
            if response.status_code != httpx.codes.OK:
                return response.status_code, (await response.aread()).decode(errors="replace")[:300]
            async for _ in response.aiter_raw():
                pass
            return response.status_code, ""
    except httpx.HTTPError as error:
        return 0, str(error) or type(error).__name__
