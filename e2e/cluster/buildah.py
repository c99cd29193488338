"""Images without a container engine: buildah with its store in the cache."""
from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from . import base_image, cache, paths
from .progress import run


def build(what: str, reference: str, dockerfile: Path, context: Path, layout: Path) -> None:
    """Build a Dockerfile and write the image as an OCI layout."""
    _ensure_base()
    uv_cache = Path(os.environ.get("UV_CACHE_DIR") or cache.root().parent / "uv")
    uv_cache.mkdir(parents=True, exist_ok=True)
    log = paths.logs() / f"image-{what}.log"
    run(f"building image {what}", _buildah(
        "build", "--isolation=chroot", "--pull-never", "--network=host", "--layers",
        # a build sees the machine's certificates and packages that were fetched before; neither becomes part of the image
        "--volume=/etc/ssl/certs:/etc/ssl/certs:ro", f"--volume={uv_cache}:/root/.cache/uv", f"--file={dockerfile}", f"--tag={reference}", str(context),
    ), log)
    run(f"writing image {what}", _buildah("push", "--quiet", "--compression-format=zstd", reference, f"oci:{layout}:{reference}"), log)


def _ensure_base() -> None:
    """In the store under the name that Dockerfiles ask for."""
    cache.made("base-image", base_image.key(), _import_base)


def _import_base(work: Path) -> None:
    (work / "Dockerfile").write_text("""FROM scratch
ADD root.tar /
# where the official image has it
RUN ln -s /usr/bin/python3 /usr/local/bin/python3 && ln -s python3 /usr/local/bin/python
ENV PATH=/usr/local/bin:/usr/bin:/bin
""")
    context = base_image.archive().parent
    command = _buildah("build", "--isolation=chroot", f"--file={work / 'Dockerfile'}", f"--tag={base_image.NAME}", str(context))
    run("importing the base image", command, paths.logs() / "base-image.log")


def _buildah(*arguments: str) -> Sequence[str]:
    store = cache.root() / "buildah"
    # in a mount namespace of its own: what it mounts and forgets goes with it
    return ["unshare", "--mount", "nice", "buildah", f"--root={store}", f"--runroot={store}/run", "--storage-driver=overlay", *arguments]
