"""The chart: what it renders in either scope, what its schema refuses, and whether the operator's rights are those it needs."""

import datetime
import itertools
import json
import pathlib
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest
import yaml
from e2e.cluster import gobuild

from fairlane import settings as own_settings
from fairlane.api import spec as specs
from fairlane.core import names, observed, plan
from fairlane.core.objects import monitoring
from fairlane.shell import resources

Object = dict[str, Any]

CHART = pathlib.Path(__file__).parents[2] / "charts/fairlane"
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
NAMESPACED = ("--set", "scope.namespaces={llm,batch}", "--set", "crds.install=false")


@pytest.fixture(scope="session")
def helm() -> pathlib.Path:
    """Helm, as the local cluster has it."""
    program = gobuild.HELM.program("helm")
    if not program.exists():
        gobuild.build()
    return program


def run(helm: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [helm, "template", "fairlane", CHART, "--namespace", "system", "--kube-version", "1.34", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def render(helm: pathlib.Path, *arguments: str) -> list[Object]:
    done = run(helm, *arguments)
    assert done.returncode == 0, done.stderr
    return [thing for thing in yaml.safe_load_all(done.stdout) if thing]


def kinds(things: Iterable[Object]) -> set[str]:
    return {thing["kind"] for thing in things}


def test_by_default_it_serves_the_cluster_and_brings_the_crd(helm: pathlib.Path) -> None:
    expected = {"CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "Deployment"}
    assert kinds(render(helm)) == expected


def test_in_named_namespaces_nothing_has_cluster_scope(helm: pathlib.Path) -> None:
    things = render(helm, *NAMESPACED)
    assert kinds(things) & CLUSTER_SCOPED == set()
    roles = sorted((thing["metadata"]["namespace"], thing["metadata"]["name"]) for thing in things if thing["kind"] == "Role")
    assert roles == [("batch", "fairlane"), ("llm", "fairlane"), ("system", "fairlane-leader")]


def test_the_crd_is_the_generated_one_and_survives_an_uninstall(helm: pathlib.Path) -> None:
    (crd,) = [thing for thing in render(helm) if thing["kind"] == "CustomResourceDefinition"]
    assert crd["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert crd == yaml.safe_load((CHART / "files/llmservices.yaml").read_text())


def test_the_operator_has_its_settings_and_no_privileges(helm: pathlib.Path) -> None:
    (deployment,) = [thing for thing in render(helm, *NAMESPACED, "--set", "image=registry.test/fairlane:1") if thing["kind"] == "Deployment"]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert (container["image"], container["args"]) == ("registry.test/fairlane:1", ["operator"])
    assert (environment["FAIRLANE_NAMESPACES"], environment["FAIRLANE_AGENT_IMAGE"]) == ("llm,batch", "registry.test/fairlane:1")
    assert {name.removeprefix("FAIRLANE_").lower() for name in environment} <= set(own_settings.OperatorSettings.model_fields)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def test_excluded_namespaces_reach_the_operator(helm: pathlib.Path) -> None:
    (deployment,) = [thing for thing in render(helm, "--set", "scope.excludedNamespaces={team-a,next-*}") if thing["kind"] == "Deployment"]
    environment = {variable["name"]: variable.get("value") for variable in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert environment["FAIRLANE_EXCLUDED_NAMESPACES"] == "team-a,next-*"


def test_the_router_image_is_the_operators_default(helm: pathlib.Path) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["routerImage"] == observed.Settings().router_image


def test_monitors_and_alerts_come_when_asked_for(helm: pathlib.Path) -> None:
    things = render(helm, "--set", "metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.prometheusRule.labels.team=ml")
    (rule,) = [thing for thing in things if thing["kind"] == "PrometheusRule"]
    assert rule["metadata"]["labels"]["team"] == "ml"
    assert "{{ $value | humanizeDuration }}" in rule["spec"]["groups"][0]["rules"][1]["annotations"]["summary"]
    assert "ServiceMonitor" in kinds(things)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param("scope.namespaces={a,*}", "/scope/namespaces/1", id="a pattern of namespaces"),
        pytest.param("scope.excludedNamespaces={team_a}", "/scope/excludedNamespaces/0", id="an excluded namespace that is no name"),
        pytest.param("scope.namespaces=llm", "/scope/namespaces", id="a namespace that is no list"),
        pytest.param("logLevel=loud", "/logLevel", id="a level that is none"),
        pytest.param("prometheus.url=prometheus:9090", "/prometheus/url", id="an address without a scheme"),
        pytest.param("replicas=2", "'replicas' not allowed", id="a value that does not exist"),
        pytest.param("rbac.create=perhaps", "/rbac/create", id="a switch that is neither on nor off"),
        pytest.param("imagePullPolicy=Sometimes", "/imagePullPolicy", id="a pull policy that is none"),
        pytest.param("metrics.serviceMonitor.interval=soon", "/metrics/serviceMonitor/interval", id="an interval that is none"),
        pytest.param("routerImage=", "/routerImage", id="no router image"),
    ],
)
def test_nonsense_is_refused_with_the_value_named(helm: pathlib.Path, value: str, said: str) -> None:
    done = run(helm, "--set", value)
    assert done.returncode != 0
    assert said in done.stderr


def test_every_value_is_described_and_every_described_value_has_a_default() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(schema["properties"]) - {"global"} == set(values)
    assert [path for path, node in fields(schema) if "description" not in node] == []
    assert {path for path, _ in fields(schema) if path != "global" and "[]" not in path} == set(paths(values, schema))


def fields(node: Object, path: str = "") -> Iterable[tuple[str, Object]]:
    """The schema's fields, with their paths."""
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}".strip(".")
        yield here, child
        yield from fields(child, here)
        yield from fields(child.get("items", {}), f"{here}[]")


def paths(values: Object, schema: Object, path: str = "") -> Iterable[str]:
    """The values' fields, down to where the schema lets users choose names."""
    for name, value in values.items():
        here = f"{path}.{name}".strip(".")
        yield here
        node = schema["properties"][name]
        if isinstance(value, dict) and "properties" in node:
            yield from paths(value, node, here)


def emitted() -> list[Object]:
    """Everything that a pass over a new service applies, with the Prometheus operator's kinds."""
    spec = specs.LLMServiceSpec.model_validate(
        {
            "model": {"uri": "hf://org/model", "tokenSecretRef": {"name": "hf"}},
            "engine": {"image": "vllm/vllm-openai:v0.32.0"},
            "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 2}, {"name": "documents", "profile": "LongContext", "replicas": 1}],
            "router": {"defaultLane": "documents"},
        }
    )
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    settings = observed.Settings(monitoring_crds=frozenset({"PodMonitor", "PrometheusRule"}))
    return list(plan.plan(observed.Observed("assistant", "llm", "u", 1, now, spec, settings=settings)).apply)


def rights(things: Iterable[Object], kind: str, name: str) -> set[tuple[str, str, str]]:
    """(group, resource, verb) that a rendered role grants without naming objects."""
    rules = next(thing["rules"] for thing in things if (thing["kind"], thing["metadata"]["name"]) == (kind, name))
    return granted([rule for rule in rules if "resourceNames" not in rule])


def granted(rules: Iterable[Object]) -> set[tuple[str, str, str]]:
    return {triple for rule in rules for triple in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"])}


@pytest.fixture(params=["cluster", "namespaces"])
def operator_rights(request: pytest.FixtureRequest, helm: pathlib.Path) -> set[tuple[str, str, str]]:
    """The operator's rights in either scope."""
    return rights(render(helm), "ClusterRole", "fairlane") if request.param == "cluster" else rights(render(helm, *NAMESPACED), "Role", "fairlane")


def test_the_operator_may_list_write_and_delete_every_kind_it_emits(operator_rights: set[tuple[str, str, str]]) -> None:
    found = {resources.of(thing["apiVersion"], thing["kind"]) for thing in emitted()}
    assert {resource.kind for resource in found} >= {"Deployment", "ControllerRevision", "ConfigMap", "Role", "RoleBinding", "PodMonitor", "PrometheusRule"}
    needed = {(resource.group, resource.plural, verb) for resource in found for verb in ("list", "create", "patch", "delete")}
    assert needed - operator_rights == set()


def test_every_emitted_kind_is_listed_by_a_pass() -> None:
    listed = {resource.kind for resource in (*resources.OWNED, *resources.MONITORING)}
    assert {thing["kind"] for thing in emitted()} - listed == set()


def test_the_operator_may_watch_what_it_watches(operator_rights: set[tuple[str, str, str]]) -> None:
    watched = (resources.SERVICE_OBJECT, *resources.WATCHED)
    assert {(resource.group, resource.plural, verb) for resource in watched for verb in ("list", "watch")} - operator_rights == set()


def test_the_operator_may_say_what_it_did(operator_rights: set[tuple[str, str, str]]) -> None:
    needed = {("fairlane.dev", "llmservices/status", "update"), ("", "events", "create"), ("coordination.k8s.io", "leases", "patch")}
    assert needed - operator_rights == set()


def test_the_operator_has_all_that_it_grants_to_routers(operator_rights: set[tuple[str, str, str]]) -> None:
    (role,) = [thing for thing in emitted() if thing["kind"] == "Role"]
    assert granted(role["rules"]) - operator_rights == set()


def test_secrets_are_out_of_reach_unless_asked_for(helm: pathlib.Path) -> None:
    def of_secrets(things: list[Object]) -> set[str]:
        return {verb for _, resource, verb in rights(things, "ClusterRole", "fairlane") if resource == "secrets"}

    assert of_secrets(render(helm)) == set()
    assert of_secrets(render(helm, "--set", "rbac.readSecrets=true")) == {"get"}


def test_logs_are_read_unless_that_is_refused(helm: pathlib.Path) -> None:
    def of_logs(things: list[Object]) -> set[str]:
        return {verb for _, resource, verb in rights(things, "ClusterRole", "fairlane") if resource == "pods/log"}

    assert of_logs(render(helm)) == {"get"}
    assert of_logs(render(helm, "--set", "rbac.readLogs=false")) == set()


def test_no_right_is_a_wildcard(operator_rights: set[tuple[str, str, str]]) -> None:
    assert [right for right in operator_rights if "*" in "".join(right)] == []


def test_monitors_name_ports_that_the_pods_have() -> None:
    things = emitted()
    ports = {
        thing["spec"]["template"]["metadata"]["labels"][names.COMPONENT_LABEL]: {
            port.get("name")
            for container in (*thing["spec"]["template"]["spec"].get("initContainers", []), *thing["spec"]["template"]["spec"]["containers"])
            for port in container.get("ports", [])
        }
        for thing in things
        if thing["kind"] == "Deployment"
    }
    assert monitoring.ENGINE_PORT_NAME in ports["engine"]
    assert monitoring.ROUTER_PORT_NAME in ports["router"]
