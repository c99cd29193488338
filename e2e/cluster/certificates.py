"""A throw-away authority and the certificates and kubeconfigs of a one-node cluster."""
from __future__ import annotations

from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from . import paths

NODE = "node1"
_SERVERS = {
    "apiserver": ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1", paths.VETH_NODE, paths.NODE_IP),
    "kubelet": (paths.NODE_IP, NODE),
}
# file name -> (user, group)
_CLIENTS = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", "none"),
    "kube-scheduler": ("system:kube-scheduler", "none"),
    "kube-proxy": ("system:kube-proxy", "none"),
    "node": (f"system:node:{NODE}", "system:nodes"),
    "kubelet-client": ("kubelet-client", "system:masters"),
}


def write(folder: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.crt")
    for name, hosts in _SERVERS.items():
        _write_pair(folder, name, authority.issue_cert(*hosts))
    for name, (user, group) in _CLIENTS.items():
        _write_pair(folder, name, authority.issue_cert("unused.invalid", common_name=user, organization_name=group))
        (folder / f"{name}.kubeconfig").write_text(yaml.safe_dump(_kubeconfig(folder, name)))
        (folder / f"{name}.kubeconfig").chmod(0o600)
    _write_token_keys(folder)


def _write_pair(folder: Path, name: str, certificate: trustme.LeafCert) -> None:
    certificate.private_key_pem.write_to_path(folder / f"{name}.key")
    certificate.cert_chain_pems[0].write_to_path(folder / f"{name}.crt")
    (folder / f"{name}.key").chmod(0o600)


def _write_token_keys(folder: Path) -> None:
    """What signs the tokens of service accounts."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "sa.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    (folder / "sa.key").chmod(0o600)
    (folder / "sa.pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def _kubeconfig(folder: Path, name: str) -> dict[str, object]:
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "local",
        "clusters": [{"name": "local", "cluster": {"server": paths.API_SERVER, "certificate-authority": str(folder / "ca.crt")}}],
        "users": [{"name": name, "user": {"client-certificate": str(folder / f"{name}.crt"), "client-key": str(folder / f"{name}.key")}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": name}}],
    }
