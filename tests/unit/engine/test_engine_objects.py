"""The objects of a lane's engines."""

import copy
import re
from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.core import errors, names, revisions, service
from fairlane.core.objects import engine

REF = service.ServiceRef("assistant", "ai", "uid-1")
LABELS = {
    "app.kubernetes.io/managed-by": "fairlane", "fairlane.dev/service": "assistant", "fairlane.dev/component": "engine", "fairlane.dev/lane": "chat",
}


def revision(lane: str = "chat", ordinal: int = 3) -> revisions.Revision:
    rendered = make.rendered(make.service(lane={"name": lane, "scheduler": {"tensorParallelSize": 2}}))
    return revisions.Revision(rendered.lane, rendered.hash, ordinal, rendered.inputs, rendered.template, rendered.gpus)


def test_a_deployment_selects_its_revision_and_nothing_else() -> None:
    stored = revision()
    deployment = engine.deployment(REF, stored, 2)
    spec = deployment["spec"]
    identity = {key: value for key, value in LABELS.items() if key.startswith("fairlane.dev/")} | {"fairlane.dev/revision": stored.id}
    assert spec["selector"] == {"matchLabels": identity}
    assert spec["template"]["metadata"]["labels"] == LABELS | {"fairlane.dev/revision": stored.id}
    assert spec["template"]["spec"] == stored.template["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["strategy"]["rollingUpdate"]) == (2, 0, {"maxUnavailable": 1, "maxSurge": 0})
    assert deployment["metadata"]["ownerReferences"] == [REF.owner]


def test_building_leaves_the_revision_as_it_is() -> None:
    stored = revision()
    before = copy.deepcopy(stored)
    engine.deployment(REF, stored, 2)
    engine.controller_revision(REF, stored)
    assert before == stored


def test_labels_of_the_user_stay_on_the_pods() -> None:
    rendered = make.rendered(make.service(engine={"pod": {"metadata": {"labels": {"team": "nlp"}}}}))
    stored = revisions.Revision(rendered.lane, rendered.hash, 1, rendered.inputs, rendered.template)
    deployment = engine.deployment(REF, stored, 1)
    assert deployment["spec"]["template"]["metadata"]["labels"]["team"] == "nlp"
    assert "team" not in deployment["spec"]["selector"]["matchLabels"]


def test_a_headless_service_carries_the_labels_to_its_slices() -> None:
    stored = revision()
    found = engine.headless_service(REF, stored)
    assert found["metadata"]["labels"] == LABELS | {"fairlane.dev/revision": stored.id}
    assert found["spec"]["selector"] == engine.deployment(REF, stored, 1)["spec"]["selector"]["matchLabels"]
    assert (found["spec"]["clusterIP"], found["spec"]["publishNotReadyAddresses"]) == ("None", False)
    assert found["spec"]["ports"] == [{"name": "http", "port": names.ENGINE_PORT, "targetPort": "http", "protocol": "TCP"}]


def test_a_budget_covers_all_revisions_of_the_lane() -> None:
    budget = engine.pod_disruption_budget(REF, "chat")
    assert budget["spec"]["maxUnavailable"] == 1
    selected = budget["spec"]["selector"]["matchLabels"].items()
    assert all(selected <= engine.deployment(REF, revision(ordinal=ordinal), 1)["spec"]["template"]["metadata"]["labels"].items() for ordinal in (1, 2))
    assert not selected <= engine.deployment(REF, revision(lane="talk"), 1)["spec"]["template"]["metadata"]["labels"].items()


def test_a_stored_revision_reads_as_it_was_written() -> None:
    stored = revision()
    found = engine.controller_revision(REF, stored)
    assert (found["apiVersion"], found["kind"], found["revision"]) == ("apps/v1", "ControllerRevision", 3)
    assert stored == engine.parse_controller_revision(found)


@pytest.mark.parametrize("stored", [
    pytest.param({"metadata": {"name": "other"}}, id="no data"),
    pytest.param({"metadata": {"name": "other"}, "data": None}, id="empty data"),
    pytest.param({"metadata": {"name": "other"}, "data": {"spec": {}}}, id="a StatefulSet's revision"),
    pytest.param({"metadata": {"name": "other"}, "data": {"lane": "a", "hash": "b", "ordinal": "x", "inputs": {}, "template": {}, "gpus": 1}},
                 id="an ordinal that is no number"),
])
def test_what_is_no_revision_of_ours_is_an_error_that_names_it(stored: dict[str, Any]) -> None:
    with pytest.raises(errors.FairlaneError, match="ControllerRevision other"):
        engine.parse_controller_revision(stored)


@pytest.mark.parametrize("lane", ["chat", "a", "abcdefghij-abcdefghi"])
@pytest.mark.parametrize("name", ["a", "assistant", "a" * 38, "my-very-long-service-name-of-38-charsx"])
def test_names_fit_dns(name: str, lane: str) -> None:
    ref = service.ServiceRef(name, "ai", "uid-1")
    stored = revisions.Revision(lane, "0123abcd", 12, {}, {"metadata": {}, "spec": {}})
    of_revision = [engine.deployment(ref, stored, 1), engine.headless_service(ref, stored), engine.controller_revision(ref, stored)]
    objects = [*of_revision, engine.pod_disruption_budget(ref, lane)]
    for found in objects:
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", found["metadata"]["name"])
        assert len(found["metadata"]["name"]) <= 63
        assert all(re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", value) and len(value) <= 63 for value in found["metadata"]["labels"].values())
