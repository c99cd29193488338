"""A model on a claim: a start waits for the pod that reads its files, never for long, and nothing of the pod is left behind."""

import datetime
from typing import Any

import pytest
from tests.unit.plan import cluster, test_plan_memory, world

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core.engine import modelfiles, termination

PHASE = statuses.Phase
FITS, TOO_LONG = test_plan_memory.FITS, test_plan_memory.TOO_LONG
SAYS = termination.message(test_plan_memory.MODEL)
URI = "pvc://weights/llama"


def service(longest: int, preflight: str = "Enforce", uri: str = URI, **scheduler: Any) -> specs.LLMServiceSpec:
    """Llama 3.1 8B on a claim, for an L4."""
    plain = test_plan_memory.service(longest, preflight, **scheduler)
    return plain.model_copy(update={"model": plain.model.model_copy(update={"uri": uri})})


def new(longest: int = FITS, **reader: Any) -> world.World:
    """A service that has just been applied."""
    made = world.World(service(longest))
    made.cluster.reader = cluster.Reader(**{"says": SAYS} | reader)
    return made


def serving() -> world.World:
    made = new()
    made.settle()
    assert (made.lane("chat").ready_replicas, pods(made)) == (2, 1), "it is kept until the engine has told its own numbers"
    made.caches[made.hash("chat")] = {"num_gpu_blocks": "2000", "block_size": "16", "cache_dtype": "auto"}
    made.run(10)
    assert pods(made) == 0
    return made


def pods(made: world.World) -> int:
    """How many pods read a model."""
    return sum(kind == "Pod" for kind, _ in made.cluster.things)


def test_a_first_revision_waits_until_the_files_are_read() -> None:
    made = new()
    made.run(2)
    lane = made.lane("chat")
    assert (lane.phase, lane.reason, lane.stable, made.cluster.pods, pods(made)) == (PHASE.WAITING, "ReadingModel", "", [], 1)
    assert f"reads config.json of {URI} first, for at most 60 s" in lane.message
    assert (made.condition("Reconciling").message, made.condition("Stalled").status) == ("chat: Waiting; the routers take the routes", "False")
    made.run(40)
    lane = made.lane("chat")
    assert (lane.ready_replicas, lane.memory.answer if lane.memory else "") == (2, "Fits")
    assert "RolloutWaiting" not in {event.reason for event in made.events}


def test_a_first_revision_that_does_not_fit_is_not_started() -> None:
    made = new(TOO_LONG)
    made.run(30)
    assert (made.cluster.pods, made.lane("chat").stable, made.lane("chat").reason) == ([], "", "DoesNotFit")
    assert (made.condition("Stalled").reason, made.condition("Reconciling").status) == ("DoesNotFit", "False")
    made.change(service(FITS))
    made.settle()
    assert made.lane("chat").ready_replicas == 2


def test_a_change_waits_and_what_does_not_fit_is_not_started() -> None:
    made = serving()
    stable = made.lane("chat").stable
    made.change(service(TOO_LONG))
    made.run(2)
    assert (made.lane("chat").reason, made.lane("chat").canary) == ("ReadingModel", "")
    made.run(10)
    lane = made.lane("chat")
    assert (lane.stable, lane.canary, lane.reason, {pod.revision for pod in made.cluster.pods}) == (stable, "", "DoesNotFit", {stable})
    made.change(service(FITS))
    made.run(10)
    assert (made.lane("chat").reason, pods(made)) == ("Serving", 0)


def test_a_change_that_fits_is_tried_and_measured_with_one_pod() -> None:
    made = serving()
    made.change(service(FITS, maxNumSeqs=24))
    made.caches[made.hash("chat")] = {"num_gpu_blocks": "2000", "block_size": "16", "cache_dtype": "auto"}
    before = made.cluster.reads
    made.settle()
    memory = made.lane("chat").memory
    assert memory is not None
    assert (made.lane("chat").stable, memory.measured_kv_tokens, made.cluster.reads - before, pods(made)) == (f"{made.hash('chat')}-1", 32_000, 1, 0)


def test_a_change_that_starts_nothing_reads_nothing() -> None:
    made = serving()
    before = made.cluster.reads
    plain = service(FITS)
    made.change(plain.model_copy(update={"lanes": [plain.lanes[0].model_copy(update={"replicas": 3})]}))
    made.run(30)
    assert (made.lane("chat").ready_replicas, made.cluster.reads) == (3, before)


@pytest.mark.parametrize(("spec", "awaited"), [
    pytest.param(service(TOO_LONG, "Off"), False, id="a preflight that is off"),
    pytest.param(service(TOO_LONG, uri="file:///models/llama"), False, id="a folder in the engine's pods"),
    pytest.param(service(TOO_LONG, uri="hf://meta/llama"), False, id="a model of the hub"),
    pytest.param(
        service(FITS).model_copy(update={"model": specs.ModelSource(uri=URI, config_map_ref=specs.ConfigMapRef(name="llama"))}), False, id="a ConfigMap",
    ),
    pytest.param(service(TOO_LONG, "Warn"), True, id="a preflight that only warns"),
])
def test_who_is_read(spec: specs.LLMServiceSpec, awaited: bool) -> None:
    made = world.World(spec)
    made.cluster.reader = cluster.Reader(SAYS)
    made.run(2)
    assert (pods(made) == 1, made.lane("chat").reason == "ReadingModel") == (awaited, awaited)
    made.run(20)
    assert made.lane("chat").stable, "it is started"
    assert [event.reason for event in made.events].count("DoesNotFit") == awaited


@pytest.mark.parametrize(("reader", "seconds", "words"), [
    pytest.param({"says": '{"error": "/models/llama has no config.json"}', "exit_code": 1}, 10, "/models/llama has no config.json", id="it found no model"),
    pytest.param({"says": "", "exit_code": 137}, 10, "said nothing: Error (exit code 137)", id="it was killed"),
    pytest.param({"says": "Traceback: ImportError", "exit_code": 1}, 10, "Traceback: ImportError", id="it broke: the end of its log"),
    pytest.param({"says": '{"config": {}}'}, 10, "names no architectures", id="a config.json that says nothing"),
    pytest.param({"unschedulable": 'persistentvolumeclaim "weights" not found'}, 70, 'persistentvolumeclaim "weights" not found', id="no node takes it"),
    pytest.param({"seconds": 1000.0}, 70, "it has not ended", id="it hangs"),
    pytest.param({"refused": True}, 70, "no pod was created: see the operator's log", id="the API server takes no such pod"),
])
def test_what_cannot_be_read_keeps_nothing_from_starting(reader: dict[str, Any], seconds: float, words: str) -> None:
    made = new(TOO_LONG, **reader)
    made.run(seconds)
    lane = made.lane("chat")
    assert lane.stable == f"{made.hash('chat')}-1"
    assert lane.memory is not None
    assert (lane.memory.answer, words in lane.memory.message) == ("Uncertain", True), lane.memory.message
    made.run(10)
    assert pods(made) == 0


def test_no_start_waits_longer_than_a_minute() -> None:
    made = new(TOO_LONG, seconds=1000.0)
    made.run(58)
    assert made.lane("chat").reason == "ReadingModel"
    made.run(6)
    assert made.lane("chat").reason == "Starting"


def test_a_pod_that_somebody_deletes_again_and_again_holds_nobody_up() -> None:
    made = new(TOO_LONG, seconds=1000.0)
    for _ in range(40):
        made.run(2)
        for name in [name for kind, name in made.cluster.things if kind == "Pod"]:
            made.cluster.delete("Pod", name)
    assert made.lane("chat").stable


def test_a_pod_that_is_gone_starts_nothing_that_did_not_fit() -> None:
    made = serving()
    made.change(service(TOO_LONG))
    made.run(10)
    made.cluster.reader = cluster.Reader(unschedulable="0/3 nodes are available")
    (name,) = [name for kind, name in made.cluster.things if kind == "Pod"]
    made.cluster.delete("Pod", name)
    for _ in range(60):
        made.run(2)
        assert (made.lane("chat").reason, made.lane("chat").canary) == ("DoesNotFit", "")


def test_files_that_were_changed_on_the_claim_are_read_within_an_hour() -> None:
    made = serving()
    made.change(service(TOO_LONG))
    made.run(10)
    small = modelfiles.ModelFiles(test_plan_memory.CONFIG | {"num_hidden_layers": 2}, 10**9, "a test")
    made.cluster.reader = cluster.Reader(termination.message(small))
    made.cluster.now += datetime.timedelta(minutes=59)
    made.run(10)
    assert (made.lane("chat").reason, pods(made)) == ("DoesNotFit", 1)
    made.cluster.now += datetime.timedelta(minutes=2)
    made.run(2)
    assert (made.lane("chat").reason, pods(made)) == ("DoesNotFit", 0)
    made.run(10)
    assert made.lane("chat").canary == f"{made.hash('chat')}-1"


def test_another_model_has_another_pod() -> None:
    made = new(TOO_LONG)
    made.run(10)
    before = set(made.cluster.made)
    made.change(service(TOO_LONG, uri="pvc://weights/other"))
    made.run(10)
    assert (len(set(made.cluster.made) - before), pods(made)) == (1, 1)


def test_a_model_that_was_named_while_the_operator_was_away_is_read_too() -> None:
    made = new(seconds=1000.0)
    made.run(4)
    made.cluster.now += datetime.timedelta(minutes=10)
    made.cluster.reader = cluster.Reader(SAYS)
    made.change(service(TOO_LONG, uri="pvc://weights/other"))
    made.run(20)
    assert (made.lane("chat").reason, made.lane("chat").stable) == ("DoesNotFit", "")


def test_a_canary_is_taken_back_at_once_and_only_the_next_one_waits() -> None:
    made = serving()
    made.change(service(FITS, maxNumSeqs=24))
    made.caches[made.hash("chat")] = {"num_gpu_blocks": "2000", "block_size": "16", "cache_dtype": "auto"}
    made.until("chat", PHASE.ANALYZING)
    canary = made.lane("chat").canary
    assert pods(made) == 0
    made.cluster.reader = cluster.Reader(unschedulable="0/3 nodes are available")
    made.change(service(FITS, maxNumSeqs=16))
    made.run(2)
    assert (made.lane("chat").phase, made.lane("chat").canary) == (PHASE.ROLLING_BACK, canary)
    made.until("chat", PHASE.WAITING, seconds=30)
    assert (made.lane("chat").canary, made.lane("chat").reason) == ("", "ReadingModel")
    made.run(62)
    assert made.lane("chat").canary == f"{made.hash('chat')}-1"


def test_a_canary_goes_on_though_no_pod_can_be_made() -> None:
    made = serving()
    made.change(service(FITS, maxNumSeqs=24))
    made.until("chat", PHASE.LOADING)
    made.cluster.reader = cluster.Reader(refused=True)
    made.settle()
    assert made.lane("chat").stable == f"{made.hash('chat')}-1"


def test_a_spec_that_cannot_be_followed_leaves_the_pod_until_it_can() -> None:
    made = new(TOO_LONG)
    made.run(10)
    good = made.spec
    made.change(None)
    made.run(10)
    made.change(good)
    made.run(10)
    assert (made.lane("chat").reason, made.cluster.reads) == ("DoesNotFit", 1)


def test_lanes_wait_for_one_pod_and_each_starts_by_what_it_said() -> None:
    made = new()
    plain = service(FITS)
    long = plain.lanes[0].model_copy(update={"name": "long", "scheduler": plain.lanes[0].scheduler.model_copy(update={"max_model_len": TOO_LONG})})
    made.change(plain.model_copy(update={"lanes": [*plain.lanes, long]}))
    made.run(40)
    assert (made.lane("chat").ready_replicas, made.lane("long").reason, made.cluster.reads, pods(made)) == (2, "DoesNotFit", 1, 1)


@pytest.mark.parametrize("cut", range(12))
@pytest.mark.parametrize(("longest", "reason"), [(FITS, "Serving"), (TOO_LONG, "DoesNotFit")])
def test_it_ends_the_same_though_every_other_pass_is_cut_off(longest: int, reason: str, cut: int) -> None:
    made = new()
    for wanted in (service(FITS), service(longest, maxNumSeqs=24)):
        made.change(wanted)
        made.run_cut(30, cut)
    made.settle()
    lane = made.lane("chat")
    assert (lane.reason, lane.canary, lane.ready_replicas, {pod.revision for pod in made.cluster.pods}) == (reason, "", 2, {lane.stable})
    assert (lane.stable == f"{made.hash('chat')}-1") == (longest == FITS)


def test_a_pass_repeated_without_its_status_writes_the_same() -> None:
    made = new(TOO_LONG)
    for _ in range(20):
        made.cluster.tick(2)
        made.reconcile(cut=1000, keep_status=False)
        before = dict(made.cluster.things)
        made.reconcile()
        assert made.cluster.things == before
