"""The answer for people: parts by name and one sentence."""

from .answer import Answer, Part
from .architecture import Architecture
from .case import Case
from .estimate import Estimate, Pool
from .need import Demand
from .search import Remedy
from .unknown import Doubt

_GIB = 2**30


def gib(amount: int) -> str:
    """Return bytes as `20.27 GiB`."""
    return f"{amount / _GIB:.2f} GiB"


def parts(estimate: Estimate) -> tuple[Part, ...]:
    """Return the table: the budget, and what it goes to."""
    lines = (
        ("budget", estimate.budget), ("weights", estimate.weights), ("activation", estimate.activation), ("outside torch", estimate.non_torch),
        ("CUDA graphs", estimate.graphs), ("correction", -estimate.pool.correction), ("KV cache", estimate.pool.bytes),
    )
    return tuple(Part(name, amount) for name, amount in lines if amount or name not in ("CUDA graphs", "correction"))


def heads(architecture: Architecture, demand: Demand) -> str:
    """Return the sentence where the heads cannot be shared among the GPUs."""
    attention = architecture.attention
    possible = [size for size in (1, 2, 4, 8, 16) if attention.splits_by(size)]
    shape = f"{attention.heads} attention heads" + (f" of which {attention.kv_heads} have keys and values" if attention.kv_heads != attention.heads else "")
    return f"does not load: {shape} cannot be shared by tensor-parallel-size {demand.tensor_parallel_size}; set {', '.join(map(str, possible))}"


def set_pool(pool: Pool, needed: int, length: int) -> str:
    """Return the sentence where the KV cache that the flags set has fewer blocks than needed."""
    least = needed * pool.cache.block_bytes
    what = f"kv-cache-memory-bytes gives {pool.tokens:,} tokens in {pool.blocks:,} blocks, and one sequence of {length:,} tokens needs {needed:,}"
    return f"does not load: {what}; set it to {least} ({gib(least)}) or lower max-model-len"


def sentence(answer: Answer, case: Case, length: int, needed: int, longest: int | None, remedy: Remedy | None, doubts: tuple[Doubt, ...]) -> str:
    """Return the answer's sentence, with the value that fits where it does not."""
    found = case.estimate(length)
    have = _have(found)
    take = f"one sequence of {length:,} tokens takes {gib(case.need(length))}"
    if answer is Answer.FITS:
        chosen = f"; max-model-len auto becomes about {length:,}" if case.demand.picks_length else ""
        return f"fits: {have}, {take}, so {found.pool.blocks / case.blocks(length):.1f} run at once{chosen}"
    other = f"; {_instead(longest, remedy)}" if longest or remedy else ""
    if answer is Answer.NO:
        return f"does not fit: {have}, {take}; {_spent(found)}{other}"
    return f"cannot say: {have}, {take}; {_reason(case, found, needed, doubts)}{other}"


def _have(found: Estimate) -> str:
    pool = found.pool
    if pool.bytes <= 0:
        return f"of {gib(found.budget)} per GPU nothing is left for the KV cache"
    return f"{gib(pool.bytes)} of {gib(found.budget)} per GPU are {'set' if pool.is_set else 'left'} for the KV cache ({pool.tokens:,} tokens)"


def _instead(longest: int | None, remedy: Remedy | None) -> str:
    return f"max-model-len {longest:,} fits" if longest else f"no max-model-len fits; {remedy} does"


def _spent(found: Estimate) -> str:
    """What the budget goes to, and what is missing where the flags set the KV cache."""
    takes = ", ".join(f"{part.name} {gib(part.bytes)}" for part in parts(found) if part.name not in ("budget", "KV cache"))
    over = found.pool.bytes - found.left
    return f"{takes} and the KV cache are {gib(over)} too much" if found.pool.is_set and over > 0 else f"the rest: {takes}"


def _reason(case: Case, found: Estimate, length: int, doubts: tuple[Doubt, ...]) -> str:
    """What stands in the way of an answer: a doubt, or numbers that are too close."""
    if case.fits(length):
        return "; ".join(doubt.reason for doubt in doubts if doubt.of_yes)
    if case.fails(length):
        return "; ".join(doubt.reason for doubt in doubts if doubt.of_no)
    margin = found.left - found.pool.bytes if found.pool.is_set else case.margin(length)
    return f"a margin of {gib(margin)} is within what may be wrong (from -{gib(case.slack)} to {gib(case.room)})"
