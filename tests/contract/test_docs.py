"""The documentation says what the code does: generated parts are in step, names exist, links lead somewhere, YAML is accepted."""

import datetime
import json
import pathlib
import re
from typing import Any

import pytest

from fairlane import settings
from fairlane.api import crd, docs, generated
from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.cli import main
from fairlane.core import conditions
from fairlane.core.engine import profiles
from fairlane.core.rollout import reasons
from fairlane.core.routing import logs, metrics, replies
from fairlane.shell import telemetry

ROOT = generated.repository()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
every_page = pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
Phase = statuses.Phase


def text(path: str) -> str:
    """Return a page."""
    return (ROOT / path).read_text(encoding="utf-8")


def test_generated_parts_are_in_step_with_the_code() -> None:
    assert generated.stale(docs.files(ROOT), ROOT) == []


@every_page
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize(("page", "most"), [("README.md", 150), ("CONTRIBUTING.md", 80)])
def test_the_front_pages_stay_short(page: str, most: int) -> None:
    assert len(text(page).splitlines()) <= most


def test_the_object_in_the_readme_is_taken_by_a_real_api_server(apiserver: Any) -> None:
    (block,) = (found for found in re.findall(r"```yaml\n(.*?)```", text("README.md"), re.DOTALL) if "kind: LLMService" in found)
    applied = apiserver.kubectl("apply", "--dry-run=server", "--namespace=default", "-f", "-", stdin=block)
    assert (applied.returncode, applied.stderr) == (0, "")


@pytest.mark.parametrize(("field", "flag"), [
    ("maxNumSeqs", "max-num-seqs"), ("maxNumBatchedTokens", "max-num-batched-tokens"), ("gpuMemoryUtilization", "gpu-memory-utilization"),
])
def test_the_defaults_of_profiles_are_those_of_the_engine_room(field: str, flag: str) -> None:
    scheduler = crd.schema()["properties"]["spec"]["properties"]["lanes"]["items"]["properties"]["scheduler"]["properties"]
    stated = scheduler[field]["description"].rpartition(" Default: by profile, ")[2]
    assert stated == ", ".join(f"{profile.value} {profiles.get(profile).flags[flag]}" for profile in specs.Profile) + "."


def test_no_profile_sets_what_the_reference_gives_another_default() -> None:
    others = {"max-model-len", "enable-chunked-prefill", "tensor-parallel-size"}
    assert [profile for profile in specs.Profile if others & set(profiles.get(profile).flags)] == []


def test_the_time_that_a_pod_may_drain_is_that_of_the_profiles() -> None:
    timeouts = crd.schema()["properties"]["spec"]["properties"]["lanes"]["items"]["properties"]["timeouts"]["properties"]
    words = ", ".join(f"{profile.value} {profiles.get(profile).drain_seconds} s" for profile in specs.Profile)
    assert words in timeouts["drain"]["description"]


def test_every_metric_is_in_the_reference() -> None:
    router = [metrics.TRIES, metrics.FAILURES, metrics.REQUESTS, metrics.SYNTHETIC_REQUESTS, metrics.TTFT, metrics.DURATION]
    operator = [f"{metric.name}_total" if metric.type == "counter" else metric.name for metric in telemetry.Telemetry().registry.collect()]
    assert [name for name in [*router, *operator] if f"`{name}`" not in text("docs/reference/metrics.md")] == []


def test_every_metric_of_the_reference_exists() -> None:
    named = set(re.findall(r"^\| `(\w+)` ", text("docs/reference/metrics.md"), re.MULTILINE))
    router = {metrics.TRIES, metrics.FAILURES, metrics.REQUESTS, metrics.SYNTHETIC_REQUESTS, metrics.TTFT, metrics.DURATION}
    operator = {f"{metric.name}_total" if metric.type == "counter" else metric.name for metric in telemetry.Telemetry().registry.collect()}
    assert named == router | operator


def test_every_key_of_the_access_log_is_in_the_reference() -> None:
    assert [key for key in logs.LINE if f"`{key}`" not in text("docs/reference/metrics.md")] == []


def test_every_code_of_the_routers_errors_is_in_the_reference() -> None:
    codes = set(re.findall(r'"code": "([a-z_]+)"', json.dumps(replies.build())))
    assert [code for code in codes if f"`{code}`" not in text("docs/reference/http.md")] == []


def test_every_command_is_in_the_reference() -> None:
    commands = [command.name or (command.callback.__name__ if command.callback else "") for command in main.app.registered_commands]
    groups = [group.name for group in main.app.registered_groups]
    assert [name for name in [*commands, *groups] if f"`fairlane {name}" not in text("docs/reference/cli.md")] == []


def test_every_command_that_a_page_names_exists() -> None:
    known = {command.name or (command.callback.__name__ if command.callback else "") for command in main.app.registered_commands}
    known |= {group.name or "" for group in main.app.registered_groups}
    named = {found for page in PAGES for found in re.findall(r"(?:`|^)fairlane ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert named - known == set()


SERVES, READS = conditions.RouterFacts(ready=2, wanted=2), (conditions.TRUE, reasons.AVAILABLE, "")


def facts(phase: Phase = Phase.IDLE, *, serves: bool = True, rejected: bool = False, moving: bool = True, canary: str = "", **others: Any) -> conditions.Facts:
    """Return the facts of a service whose one lane is in this phase."""
    lane = conditions.LaneFacts(statuses.LaneStatus(name="chat", phase=phase, stable="a-1", canary=canary), serves, rejected, "b")
    return conditions.Facts(**{"generation": 1, "now": NOW, "lanes": [lane], "router": SERVES, "moving": ["chat"] if moving else []} | others)


# Which facts belong to a phase is the core's (plan.py); what follows from them is computed here.
SITUATIONS = {
    "the first revision loads": facts(serves=False),
    "Idle, the spec's revision serves": facts(moving=False),
    "Idle, the spec's revision was rolled back": facts(moving=False, rejected=True),
    "Waiting": facts(Phase.WAITING),
    "Loading": facts(Phase.LOADING, canary="b-1"),
    "Warming": facts(Phase.WARMING, canary="b-1", metrics=READS),
    "Analyzing": facts(Phase.ANALYZING, canary="b-1", metrics=READS),
    "Analyzing, Prometheus is away": facts(Phase.ANALYZING, canary="b-1", metrics=(conditions.FALSE, "PrometheusUnreachable", "")),
    "Promoting": facts(Phase.PROMOTING, canary="b-1", metrics=READS),
    "RollingBack after a Fail": facts(Phase.ROLLING_BACK, canary="b-1", rejected=True),
    "RollingBack, superseded": facts(Phase.ROLLING_BACK, canary="b-1"),
    "the spec cannot be followed, lanes serve": facts(refused="spec.engine.version: …"),
    "the stable has no ready replica": facts(serves=False),
    "no router pod is ready": facts(router=conditions.RouterFacts(ready=0, wanted=2)),
    "Envoy refused the routes": facts(router=conditions.RouterFacts(ready=2, wanted=2, rejected="…")),
    "no Prometheus is named": facts(moving=False, metrics=(conditions.FALSE, reasons.NOT_CONFIGURED, "")),
}


def phases_table() -> str:
    """Return the table of docs/reference/conditions.md as the code has it."""
    kinds = [condition.type for condition in conditions.build((), SITUATIONS["Waiting"])]
    rows = [f"| situation | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for situation, known in SITUATIONS.items():
        values = [f"{condition.status} `{condition.reason}`" for condition in conditions.build((), known)]
        rows.append(f"| {situation} | {' | '.join(values)} |")
    return "\n".join(rows)


def test_the_table_of_phases_and_conditions_is_what_the_core_says() -> None:
    assert phases_table() in text("docs/reference/conditions.md"), f"put this into the page:\n{phases_table()}"


def test_every_setting_of_the_operator_is_in_the_reference_as_the_code_says_it() -> None:
    stated = [line for line in text("docs/reference/settings.md").splitlines() if line.startswith("| `FAIRLANE_")]
    fields = settings.OperatorSettings.model_fields.items()
    shown = {name: f"`{field.default}`" if field.default != "" else "" for name, field in fields}
    assert stated == [f"| `FAIRLANE_{name.upper()}` | {shown[name]} | {field.description} |" for name, field in fields]
