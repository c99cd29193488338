"""Will it load? One pure function from model, GPU and flags to the answer."""

from . import estimate as estimates
from . import search, wording
from .answer import Answer, Preflight
from .architecture import Architecture
from .case import Case
from .gpus import Usable
from .need import Demand, Device
from .unknown import Doubt, Unknown


def preflight(
    architecture: Architecture | Unknown, usable: Usable | Unknown, demand: Demand, *, typical_tokens: int | None = None, correction: int | None = None,
) -> Preflight:
    """Return whether a model loads on GPUs of this memory with these flags.

    It fits where 0.75 GiB or 3 % of the budget are left beyond one sequence of max-model-len; it does not where 0.75 GiB are missing, or what is certain by
    itself says no: weights larger than the budget, heads that cannot be shared, a set KV cache that is too small (data/overheads.yaml says why so much).
    `typical_tokens` is the length of usual sequences; `correction` is `compare.Difference.correction` of an earlier load.
    """
    if isinstance(architecture, Unknown):
        return _unsure(architecture.reason, ())
    doubts = _doubts(architecture, usable, demand)
    if not architecture.attention.splits_by(demand.tensor_parallel_size):
        return Preflight(Answer.NO, wording.heads(architecture, demand), doubts=tuple(doubt.reason for doubt in doubts))
    length = demand.max_model_len or architecture.longest
    if length is None:
        return _unsure("config.json does not say the model's longest sequence; set max-model-len", doubts)
    if isinstance(usable, Unknown) or architecture.weight_bytes is None or demand.device is Device.CPU:
        return _without_memory(architecture, usable, demand, length, typical_tokens, doubts)
    return _measured(Case(architecture, usable, demand, correction), length, typical_tokens, doubts)


def _measured(case: Case, length: int, typical_tokens: int | None, doubts: tuple[Doubt, ...]) -> Preflight:
    """The answer where everything it needs is known."""
    needed = 1 if case.demand.picks_length else length
    answer = _answer(case, needed, doubts)
    is_clear = not any(doubt.of_yes for doubt in doubts)
    longest = search.longest(case, max(length, case.architecture.longest or 0), case.fits) if is_clear else None
    if case.demand.picks_length:
        length = search.longest(case, length, case.holds) or length
    remedy = search.remedy(case, needed) if is_clear and longest is None else None
    parts, margin = case.estimate(length), case.margin(needed)
    return Preflight(
        answer=answer,
        sentence=wording.sentence(answer, case, length, needed, longest, remedy, doubts),
        parts=wording.parts(parts),
        kv_tokens=parts.pool.tokens,
        concurrency=parts.pool.blocks / case.blocks(length),
        concurrency_typical=parts.pool.blocks / case.blocks(typical_tokens) if typical_tokens else None,
        longest=longest,
        remedy=remedy,
        margin=margin,
        margin_share=margin / parts.pool.bytes if parts.pool.bytes > 0 else None,
        doubts=tuple(doubt.reason for doubt in doubts),
        pool=parts.pool,
    )


def _answer(case: Case, length: int, doubts: tuple[Doubt, ...]) -> Answer:
    if case.fits(length) and not any(doubt.of_yes for doubt in doubts):
        return Answer.FITS
    if case.fails(length) and not any(doubt.of_no for doubt in doubts):
        return Answer.NO
    return Answer.UNCERTAIN


def _without_memory(
    architecture: Architecture, usable: Usable | Unknown, demand: Demand, length: int, typical_tokens: int | None, doubts: tuple[Doubt, ...],
) -> Preflight:
    """The answer where the GPU's memory or the weights are not known: a KV cache that the flags set can still be too small."""
    if isinstance(usable, Unknown):
        missing = usable.reason
    elif architecture.weight_bytes is None:
        missing = "the size of the weights is not known"
    else:
        missing = "what an engine takes on a CPU is not computed"
    if demand.kv_cache_memory_bytes is None:
        return _unsure(missing, doubts)
    pool = estimates.set_pool(architecture, demand, demand.kv_cache_memory_bytes)
    blocks = [estimates.request_blocks(architecture, demand, tokens) for tokens in (1 if demand.picks_length else length, length, typical_tokens or length)]
    needed, margin = blocks[0] + 1, pool.bytes - (blocks[0] + 1) * pool.cache.block_bytes
    is_small = margin < 0 and not any(doubt.of_no for doubt in doubts)
    return Preflight(
        answer=Answer.NO if is_small else Answer.UNCERTAIN,
        sentence=wording.set_pool(pool, needed, length) if is_small else f"cannot say: {missing}",
        kv_tokens=pool.tokens,
        concurrency=pool.blocks / blocks[1],
        concurrency_typical=pool.blocks / blocks[2] if typical_tokens else None,
        margin=margin,
        margin_share=margin / pool.bytes,
        doubts=(missing, *(doubt.reason for doubt in doubts)),
        pool=pool,
    )


def _doubts(architecture: Architecture, usable: Usable | Unknown, demand: Demand) -> tuple[Doubt, ...]:
    found = [*architecture.doubts, *demand.doubts]
    if not isinstance(usable, Unknown):
        found += usable.doubts
    if not estimates.is_known_type(demand):
        found.append(Doubt(f"kv-cache-dtype {demand.kv_cache_dtype} is computed as auto: what it takes per token is not known"))
    if demand.quantization is not None and not architecture.is_quantised:
        found.append(Doubt(f"quantization {demand.quantization} makes a checkpoint that is not quantised smaller as it loads, and by how much is not computed"))
    if architecture.weight_bytes is not None and architecture.weights_from != "the weights' files":
        found.append(Doubt(f"the size of the weights is from {architecture.weights_from}, not from their files", of_yes=False, of_no=False))
    return tuple(found)


def _unsure(reason: str, doubts: tuple[Doubt, ...]) -> Preflight:
    return Preflight(Answer.UNCERTAIN, f"cannot say: {reason}", doubts=(reason, *(doubt.reason for doubt in doubts)))
