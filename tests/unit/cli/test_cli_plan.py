"""`fairlane plan`: from a file to tables, machine forms and exit codes."""

import json
import pathlib
from typing import Any

import pytest
import yaml
from tests.contract import specs_table
from tests.unit.cli import served
from typer import testing

from fairlane.api import spec as specs
from fairlane.cli import main
from fairlane.core.engine import render

RUNNER = testing.CliRunner()
EXAMPLES = sorted((pathlib.Path(__file__).parents[3] / "examples").glob("*.yaml"))


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks the hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def plan(*args: str, given: str | None = None) -> tuple[int, str]:
    """The exit code, and both outputs together."""
    done = RUNNER.invoke(main.app, ["plan", *args], input=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.exit_code, done.output


def written(path: pathlib.Path, **change: Any) -> str:
    """A file with the good object of the tables, changed."""
    file = path / "service.yaml"
    file.write_text(yaml.safe_dump(specs_table.changed(**change)))
    return str(file)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in EXAMPLES])
def test_every_example_is_clean_without_a_cluster(path: pathlib.Path) -> None:
    code, text = plan(str(path))
    assert code == 0, text
    assert "It applies at once, without a canary." in text


def test_tables_say_who_set_a_flag_and_what_vllm_is_called_with(tmp_path: pathlib.Path) -> None:
    _, text = plan(written(tmp_path))
    assert "max-num-seqs" in text
    assert "spec.lanes[chat].scheduler.maxNumSeqs" in text
    assert "command: vllm serve Qwen/Qwen2.5-7B-Instruct" in text
    assert "step 1: 10 % for 30m" in text
    assert "+ Deployment/assistant-router" in text


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_machines_get_the_same(tmp_path: pathlib.Path, form: str) -> None:
    code, text = plan(written(tmp_path), "-o", form)
    (found,) = yaml.safe_load(text)
    assert code == 0
    assert (found["comparedWithServer"], found["wouldBeRefused"], found["changesPending"]) == (False, False, True)
    assert {"name": "max-num-seqs", "value": 16, "setBy": "lane.scheduler", "field": "spec.lanes[chat].scheduler.maxNumSeqs"} in found["lanes"][0]["flags"]
    assert found["lanes"][0]["command"][:2] == ["vllm", "serve"]


@pytest.mark.parametrize(("change", "words"), [
    pytest.param({"spec__lanes__0__scheduler__maxNumBatchedTokens": 8}, "8 must be at least maxNumSeqs 16", id="by a rule of the CRD"),
    pytest.param({"spec__lanes__0__replica": 2}, 'unknown field "spec.lanes[0].replica"', id="by its schema"),
    pytest.param({"spec__lanes__0__flags": {"swap-space": 4}}, "has no flag swap-space", id="by the version's flags"),
])
def test_what_would_be_refused_exits_with_1(tmp_path: pathlib.Path, change: dict[str, Any], words: str) -> None:
    code, text = plan(written(tmp_path, **change))
    assert code == 1
    assert words in " ".join(text.split())
    assert "It would be refused" in text


@pytest.mark.parametrize(("text", "words"), [
    pytest.param("", "holds no LLMService", id="an empty file"),
    pytest.param("kind: Deployment", "holds no LLMService", id="another object"),
    pytest.param("a: [", "is no YAML", id="broken YAML"),
    pytest.param("\x00", "is no YAML", id="bytes that are no text"),
    pytest.param("[1, 2]", "holds no LLMService", id="a list"),
    pytest.param('{"kind": "LLMService", "metadata": {"name": "\\ud800"}}', "has half a character in it", id="half a character"),
])
def test_a_file_that_is_none_is_named(text: str, words: str) -> None:
    code, told = plan("-", given=text)
    assert code == 1
    assert words in told


def test_rare_characters_of_json_are_read() -> None:
    """As escapes, as most writers of JSON write them."""
    code, text = plan("-", "-o", "json", given=json.dumps(specs_table.changed(spec__engine__pod={"\U0001f600": None})))
    assert (code, "\U0001f600" in text) == (1, True)


def test_a_file_that_is_not_there_is_named() -> None:
    assert plan("nowhere.yaml") == (1, "error: nowhere.yaml cannot be read: No such file or directory\n")


def test_a_list_as_kubectl_writes_it_is_read(tmp_path: pathlib.Path) -> None:
    both = [specs_table.changed(), specs_table.changed(metadata__name="second")]
    (tmp_path / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": both}))
    code, text = plan(str(tmp_path / "list.json"), "-o", "json")
    assert (code, [item["name"] for item in json.loads(text)]) == (0, ["assistant", "second"])


class TestAgainstTheServer:
    """The good object serves."""

    @pytest.fixture(autouse=True)
    def served(self, fake: Any) -> None:
        good = specs_table.changed()
        spec = specs.LLMServiceSpec.model_validate(good["spec"])
        lanes = [{"name": lane.name, "stable": f"{render.render('assistant', spec, lane).hash}-1"} for lane in spec.lanes]
        fake.kept[:] = [served.service(lanes=lanes, history=[]) | {"spec": good["spec"]}]

    @pytest.mark.parametrize(("change", "flags", "expected"), [
        pytest.param({}, ["--detailed-exitcode"], 0, id="nothing changes"),
        pytest.param({"spec__lanes__0__replicas": 3}, [], 0, id="a change, not asked for"),
        pytest.param({"spec__lanes__0__replicas": 3}, ["--detailed-exitcode"], 2, id="a change, asked for"),
        pytest.param({"spec__lanes__0__replicas": 0}, ["--detailed-exitcode"], 1, id="a refusal goes before"),
    ])
    def test_exit_codes(self, tmp_path: pathlib.Path, change: dict[str, Any], flags: list[str], expected: int) -> None:
        code, text = plan(written(tmp_path, metadata__namespace=None, **change), "--server", *flags)
        assert expected == code, text

    def test_a_scheduler_change_is_a_canary(self, tmp_path: pathlib.Path) -> None:
        _, text = plan(written(tmp_path, metadata__namespace=None, spec__lanes__0__scheduler__maxNumSeqs=8), "--server")
        assert "needs a canary: lanes[chat].scheduler.maxNumSeqs: 16 -> 8" in text
        assert "Canaries in chat; everything else applies at once." in text

    def test_a_service_that_is_not_there_is_new(self, tmp_path: pathlib.Path) -> None:
        _, text = plan(written(tmp_path, metadata__namespace=None, metadata__name="other"), "--server")
        assert "as if nothing ran" in text


CONFIG = json.dumps({
    "architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
})
L4 = {"spec__engine__gpu": {"product": "NVIDIA-L4"}}


def with_config_map(tmp_path: pathlib.Path, **change: Any) -> str:
    """A file with a ConfigMap for the model beside the service, for whose sake the lane's length is given."""
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "qwen"}, "data": {"config.json": CONFIG, "weightBytes": "15231233024"}}
    service = specs_table.changed(**L4 | {"spec__model__configMapRef": {"name": "qwen"}} | change)
    (tmp_path / "both.yaml").write_text(yaml.safe_dump_all([config_map, service]))
    return str(tmp_path / "both.yaml")


class TestMemory:
    """The answer before anything loads."""

    def test_what_fits_is_said_with_its_numbers(self, tmp_path: pathlib.Path) -> None:
        code, text = plan(with_config_map(tmp_path), "-o", "json")
        memory = json.loads(text)[0]["lanes"][0]["memory"]
        assert (code, memory["answer"]) == (0, "Fits")
        assert memory["parts"]["weights"] == 15231233024
        assert memory["kvTokens"] > 60_000

    def test_what_does_not_fit_would_be_refused(self, tmp_path: pathlib.Path) -> None:
        code, text = plan(with_config_map(tmp_path, spec__engine__gpu={"product": "Tesla-T4"}))
        assert code == 1
        assert "is not started (rollout.preflight)" in text
        assert "It would be refused" in text

    @pytest.mark.parametrize("preflight", ["Warn", "Off"])
    def test_it_is_taken_where_the_preflight_may_not_refuse(self, tmp_path: pathlib.Path, preflight: str) -> None:
        code, text = plan(with_config_map(tmp_path, spec__engine__gpu={"product": "Tesla-T4"}, spec__rollout={"preflight": preflight}))
        assert (code, "does not fit" in text) == (0, preflight == "Warn")

    def test_a_folder_goes_before_everything(self, tmp_path: pathlib.Path) -> None:
        (tmp_path / "config.json").write_text(CONFIG)
        _, text = plan(written(tmp_path, **L4), "--model-config", str(tmp_path))
        assert "memory: fits: " in text

    @pytest.mark.parametrize(("change", "words"), [
        pytest.param({}, "the hub was not asked for Qwen/Qwen2.5-7B-Instruct", id="the hub's, offline"),
        pytest.param({"spec__model__uri": "pvc://weights/qwen"}, "put it into a ConfigMap and name that in spec.model.configMapRef", id="a claim's"),
        pytest.param({"spec__model__configMapRef": {"name": "none"}}, "there is no ConfigMap none in the file", id="a ConfigMap that is not in the file"),
    ])
    def test_what_cannot_be_read_is_uncertain_and_taken(self, tmp_path: pathlib.Path, change: dict[str, Any], words: str) -> None:
        code, text = plan(written(tmp_path, **L4, **change))
        assert code == 0
        assert "memory: cannot say: " in text
        assert words in text

    def test_the_clusters_config_map_is_read(self, tmp_path: pathlib.Path, fake: Any) -> None:
        fake.config_maps["prod", "qwen"] = {"config.json": CONFIG, "weightBytes": "15231233024"}
        change = {"metadata__namespace": "prod", "metadata__name": "other", "spec__model__configMapRef": {"name": "qwen"}}
        _, text = plan(written(tmp_path, **L4, **change), "--server")
        assert "memory: fits: " in text

    def test_the_nodes_say_which_gpu_it_is(self, tmp_path: pathlib.Path, fake: Any) -> None:
        (tmp_path / "config.json").write_text(CONFIG)
        fake.products = frozenset({"Tesla-T4"})
        change = {"metadata__namespace": "prod", "metadata__name": "other"}
        code, text = plan(written(tmp_path, **change), "--server", "--model-config", str(tmp_path))
        assert (code, "does not fit" in text) == (1, True)
