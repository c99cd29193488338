"""The memory preflight in the pass: what is not started, what is told, what is learnt from an engine that has loaded."""

import json
import pathlib
from typing import Any

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core.engine import modelfiles
from fairlane.core.engine.memory.unknown import Unknown

CONFIG = json.loads((pathlib.Path(__file__).parents[1] / "engine" / "models" / "llama-3.1-8b.json").read_text())
MODEL = modelfiles.ModelFiles(CONFIG, 16_060_522_496, "a test")
FITS, TOO_LONG = 8192, 120_000        # tokens of one sequence on an L4


def service(longest: int, preflight: str = "Enforce", seed: int = 0, **scheduler: Any) -> specs.LLMServiceSpec:
    """One lane of Llama 3.1 8B on an L4. Another seed is another revision of the same memory."""
    plain = world.spec({"name": "chat", "scheduler": {"maxModelLen": longest, **scheduler}, "flags": {"seed": seed}}, preflight=preflight)
    return plain.model_copy(update={"engine": plain.engine.model_copy(update={"gpu": specs.Gpu(product="NVIDIA-L4")})})


def serving(model: modelfiles.ModelFiles | Unknown = MODEL) -> world.World:
    made = world.World(service(FITS), model=model)
    made.run(60)
    assert made.lane("chat").ready_replicas == 2
    return made


def condition(made: world.World, kind: str) -> statuses.Condition:
    return next(item for item in made.status.conditions if item.type == kind)


def test_a_revision_that_does_not_fit_is_not_started() -> None:
    made = serving()
    stable = made.lane("chat").stable
    made.change(service(TOO_LONG))
    made.run(30)
    lane = made.lane("chat")
    assert (lane.stable, lane.canary, lane.reason) == (stable, "", "DoesNotFit")
    assert {pod.revision for pod in made.cluster.pods} == {stable}
    stalled = condition(made, "Stalled")
    assert (stalled.status, stalled.reason) == ("True", "DoesNotFit")
    assert "does not fit: " in stalled.message
    assert "120,000 tokens" in stalled.message
    assert (condition(made, "Ready").status, condition(made, "Reconciling").status) == ("True", "False")
    assert [event.reason for event in made.events].count("DoesNotFit") == 1


def test_a_change_that_fits_goes_on_from_there() -> None:
    made = serving()
    made.change(service(TOO_LONG))
    made.run(10)
    made.change(service(FITS, maxNumSeqs=24))
    made.settle()
    assert (made.lane("chat").stable, condition(made, "Stalled").status) == (f"{made.hash('chat')}-1", "False")


def test_going_back_to_the_stable_ends_it() -> None:
    made = serving()
    made.change(service(TOO_LONG))
    made.run(10)
    made.change(service(FITS))
    made.run(10)
    assert (made.lane("chat").reason, condition(made, "Stalled").status, made.status.history) == ("Serving", "False", [])


def test_a_first_revision_that_does_not_fit_is_not_started_either() -> None:
    made = world.World(service(TOO_LONG), model=MODEL)
    made.run(30)
    assert (made.cluster.pods, made.lane("chat").stable, made.lane("chat").reason) == ([], "", "DoesNotFit")
    assert (condition(made, "Stalled").reason, condition(made, "Reconciling").status) == ("DoesNotFit", "False")
    made.change(service(FITS))
    made.run(60)
    assert made.lane("chat").ready_replicas == 2


@pytest.mark.parametrize(("preflight", "told"), [("Warn", 1), ("Off", 0)])
def test_it_is_started_where_the_preflight_may_not_keep_it(preflight: str, told: int) -> None:
    made = serving()
    made.change(service(TOO_LONG, preflight))
    made.run(10)
    assert made.lane("chat").canary == f"{made.hash('chat')}-1"
    assert [event.reason for event in made.events].count("DoesNotFit") == told


@pytest.mark.parametrize("model", [Unknown("the hub cannot be asked"), None], ids=["nothing is known of the model", "nothing was asked"])
def test_what_is_not_known_keeps_nothing_from_starting(model: Unknown | None) -> None:
    made = serving()
    made.model = model
    made.change(service(TOO_LONG))
    made.run(10)
    assert made.lane("chat").canary == f"{made.hash('chat')}-1"


def test_a_hub_that_goes_away_starts_nothing_that_did_not_fit() -> None:
    made = serving()
    made.change(service(TOO_LONG))
    made.run(10)
    made.model = Unknown("the hub cannot be asked")
    made.run(30)
    lane = made.lane("chat")
    assert (lane.canary, lane.reason, lane.memory.answer if lane.memory else "") == ("", "DoesNotFit", "No")


def test_the_prediction_stands_beside_what_the_engine_measured() -> None:
    made = serving()
    made.caches[made.hash("chat")] = {"num_gpu_blocks": "2000", "block_size": "16", "cache_dtype": "auto"}
    before = made.lane("chat").memory
    made.run(10)
    after = made.lane("chat").memory
    assert before is not None
    assert after is not None
    assert (before.answer, before.measured_kv_tokens, before.revision) == ("Fits", None, made.hash("chat"))
    assert (after.predicted_kv_tokens, after.measured_kv_tokens) == (before.predicted_kv_tokens, 32_000)
    assert after.predicted_kv_tokens is not None
    assert after.correction_mib == round((32_000 - after.predicted_kv_tokens) * 131_072 / 2**20)


def test_what_was_learnt_goes_into_the_next_estimate_of_that_model_and_no_other() -> None:
    made = serving()
    made.caches[made.hash("chat")] = {"num_gpu_blocks": "2000", "block_size": "16", "cache_dtype": "auto"}
    made.run(10)
    learnt = made.lane("chat").memory
    made.change(service(FITS, seed=1))
    made.run(3)
    again = made.lane("chat").memory
    assert learnt is not None
    assert again is not None
    assert (again.revision, again.correction_mib) == (made.hash("chat"), learnt.correction_mib)
    assert again.predicted_kv_tokens == pytest.approx(32_000, abs=16)
    made.change(service(FITS, tensorParallelSize=2))
    made.run(3)
    other = made.lane("chat").memory
    assert other is not None
    assert (other.correction_mib, other.key != again.key) == (None, True)


def test_a_canary_that_never_loads_teaches_nothing() -> None:
    made = serving()
    made.change(service(FITS, maxNumSeqs=24))
    made.cluster.qualities[made.hash("chat")] = cluster.Quality(crash_after=5)
    made.settle()
    memory = made.lane("chat").memory
    assert memory is not None
    assert memory.measured_kv_tokens is None
