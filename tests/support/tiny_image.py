"""Makes images of a few bytes, for tests with unusable images."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from docker import DockerClient


@contextmanager
def tiny_image(
    engine: DockerClient,
    *,
    files: Mapping[str, bytes] = {},
    entrypoint: Sequence[str] = (),
    architecture: str | None = None,
) -> Iterator[str]:
    """Loads a tiny image into the engine and yields its name. Removes the image in the end.

    `files`: programs in the image, by path without the first slash. `architecture`: None for that of the
    engine.
    """
    name = f"slipway-test-tiny:{uuid4().hex[:12]}"
    architecture = architecture or str(engine.version()["Arch"])
    engine.images.load(_archive(name, files, entrypoint, architecture))
    try:
        yield name
    finally:
        engine.images.remove(name, force=True)


@contextmanager
def derived_image(engine: DockerClient, base: str, lines: str) -> Iterator[str]:
    """Builds an image from `base` with further lines of a Dockerfile, and yields its name. Removes it in the
    end.
    """
    name = f"slipway-test-derived:{uuid4().hex[:12]}"
    dockerfile = io.BytesIO(f"FROM {base}\n{lines}\n".encode())
    engine.images.build(fileobj=dockerfile, tag=name, rm=True, forcerm=True)
    try:
        yield name
    finally:
        engine.images.remove(name, force=True)


def _archive(name: str, files: Mapping[str, bytes], entrypoint: Sequence[str], architecture: str) -> bytes:
    """Returns the image as a tar archive, in the format of `docker save`."""
    # The content is unique, so that loading it does not rename an existing image.
    layer = _tar({**files, "unique": name.encode()}, mode=0o755)
    config = {
        "os": "linux",
        "architecture": architecture,
        "config": {"Entrypoint": list(entrypoint)} if entrypoint else {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = {"config.json": json.dumps(config), "manifest.json": json.dumps(manifest)}
    return _tar({**{path: text.encode() for path, text in parts.items()}, "layer.tar": layer}, mode=0o644)


def _tar(files: Mapping[str, bytes], mode: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
