"""A real API server for the tests of this folder: etcd and kube-apiserver alone, on loopback, up in seconds.

The programs are those of the local cluster (built once, kept in its cache), or those in KUBEBUILDER_ASSETS where that is set.
"""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import trustme
from e2e.cluster import gobuild

from fairlane.api import crd, generated

_TOKEN = "contract"


@dataclasses.dataclass(frozen=True)
class ApiServer:
    """A running API server with the CRD in it."""

    url: str
    program: pathlib.Path
    ca: pathlib.Path

    def kubectl(self, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl as an administrator; the caller looks at the exit code."""
        connection = [f"--server={self.url}", f"--certificate-authority={self.ca}", f"--token={_TOKEN}", f"--cache-dir={self.ca.parent / 'discovery'}"]
        return subprocess.run([self.program, *connection, *args], input=stdin, capture_output=True, text=True, timeout=60, check=False)

    def dry_run(self, manifest: str) -> subprocess.CompletedProcess[str]:
        """Apply the manifest as `kubectl apply` does, without keeping it."""
        return self.kubectl("apply", "--dry-run=server", "-o", "yaml", "-f", "-", stdin=manifest)


def _programs() -> dict[str, pathlib.Path]:
    names = ("etcd", "kube-apiserver", "kubectl")
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        return {name: pathlib.Path(assets) / name for name in names}
    programs = {name: (gobuild.ETCD if name == "etcd" else gobuild.KUBERNETES).program(name) for name in names}
    if not all(program.exists() for program in programs.values()):
        gobuild.build()
    return programs


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _running(log: pathlib.Path, command: list[str | pathlib.Path]) -> Iterator[subprocess.Popen[bytes]]:
    # Linux ends it with us, however we end; elsewhere it is ended below.
    guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log.open("wb") as output, subprocess.Popen([*guard, *command], stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_ready(url: str, ca: trustme.CA, process: subprocess.Popen[bytes], log: pathlib.Path) -> None:
    context = ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())
    request = urllib.request.Request(f"{url}/readyz", headers={"Authorization": f"Bearer {_TOKEN}"})
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(request, context=context, timeout=2):
            return
        time.sleep(0.1)
    raise AssertionError(f"kube-apiserver is not ready; the end of its log:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="session")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The API server, with the CRD of this checkout established."""
    folder, programs = tmp_path_factory.mktemp("apiserver"), _programs()
    ca = trustme.CA()
    certificate = ca.issue_cert("127.0.0.1")
    ca.cert_pem.write_to_path(folder / "ca.crt")
    certificate.private_key_pem.write_to_path(folder / "tls.key")
    certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    (folder / "tokens.csv").write_text(f"{_TOKEN},admin,admin,system:masters\n")
    etcd_url, peer_url, port = f"http://127.0.0.1:{_free_port()}", f"http://127.0.0.1:{_free_port()}", _free_port()
    etcd: list[str | pathlib.Path] = [
        programs["etcd"], f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync", f"--listen-client-urls={etcd_url}", f"--advertise-client-urls={etcd_url}",
        f"--listen-peer-urls={peer_url}", f"--initial-advertise-peer-urls={peer_url}", f"--initial-cluster=default={peer_url}",
    ]
    server: list[str | pathlib.Path] = [
        programs["kube-apiserver"], f"--etcd-servers={etcd_url}", "--bind-address=127.0.0.1", f"--secure-port={port}", "--service-cluster-ip-range=10.0.0.0/24",
        f"--tls-cert-file={folder / 'tls.crt'}", f"--tls-private-key-file={folder / 'tls.key'}", f"--token-auth-file={folder / 'tokens.csv'}",
        f"--service-account-key-file={folder / 'tls.key'}", f"--service-account-signing-key-file={folder / 'tls.key'}",
        "--service-account-issuer=https://contract.invalid", "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
    ]
    with _running(folder / "etcd.log", etcd), _running(folder / "kube-apiserver.log", server) as process:
        running = ApiServer(url=f"https://127.0.0.1:{port}", program=programs["kubectl"], ca=folder / "ca.crt")
        _wait_ready(running.url, ca, process, folder / "kube-apiserver.log")
        applied = running.kubectl("apply", "--server-side", "-f", str(generated.repository() / crd.FILES[0]))
        assert applied.returncode == 0, applied.stderr
        established = running.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/llmservices.fairlane.dev")
        assert established.returncode == 0, established.stderr
        yield running
