"""Defines the names and the build files of the sandbox images. The name of an image contains a hash of its
build files, so equal files give an equal name.
"""

import hashlib
import io
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from app_server.core.config import Config, SandboxFlavour
from app_server.core.errors import StartFailure

REPOSITORY = "slipway-sandbox"
BASE_REPOSITORY = "slipway-base"
SOURCE_TREE = Path(__file__).resolve().parents[2]
FLAVOURS: tuple[SandboxFlavour, ...] = get_args(SandboxFlavour)
RUNTIME_PLUGINS: dict[SandboxFlavour, frozenset[str]] = {
    "slim": frozenset({"jupyter"}),
    "full": frozenset({"vscode", "desktop", "browser", "jupyter"}),
}
"""The names of the runtime plugins (programs for the agent or the user, such as VS Code) that a sandbox image
contains, for each flavour (variant) of the image: `full` or `slim`.
"""


@dataclass(frozen=True)
class BuildInputs:
    """The source files of one `docker build`. `dockerfile`: the path of the Dockerfile. `copied`: the paths
    of the files and folders that the Dockerfile copies. All paths are relative to the root of Slipway's
    source code.
    """

    dockerfile: str
    copied: tuple[str, ...]


DEPENDENCIES = BuildInputs(
    "containers/sandbox/Dockerfile",
    (
        "containers/sandbox/node.lock",
        "containers/sandbox/python.lock",
        "containers/sandbox/web",
        "requirements-sandbox.lock",
    ),
)
AGENT_SERVER = BuildInputs(
    "containers/sandbox/source.Dockerfile",
    (
        "containers/sandbox/chromium-policies.json",
        "containers/sandbox/entrypoint.sh",
        "containers/sandbox/commands",
        "agent_runtime",
    ),
)


@dataclass(frozen=True)
class ImageDefinition:
    """The names of the two images that are built on one base image, for one flavour (the variant: `full` with
    a browser and fonts, or `slim`). `base`: the name of the base image. `dependencies`: the name of the image
    with all dependencies, but without the agent server; it changes only if the build files change, for
    example the lock files. `image`: the name of the image that sandboxes start from; it is built on
    `dependencies` and contains the agent server.
    """

    flavour: SandboxFlavour
    base: str
    dependencies: str
    image: str


@cache
def image_definition(flavour: SandboxFlavour, base: str) -> ImageDefinition:
    """Returns the names of the images for this flavour and this base image. The result is cached, so the
    build files are read only once in each process. Blocks the thread.

    `flavour`: "full" is the variant with a browser and fonts, "slim" the variant without them. Raises
    StartFailure `sandbox_image_build_failed` if the installation has no build files.
    """
    dependencies = f"{REPOSITORY}:{flavour}-lock-{_digest(DEPENDENCIES, base, flavour)}"
    image = f"{REPOSITORY}:{flavour}-{_digest(AGENT_SERVER, dependencies)}"
    return ImageDefinition(flavour, base, dependencies, image)


def image_name(config: Config, base: str | None = None) -> str:
    """Returns the name of the image that sandboxes start from. Blocks the thread.

    `base`: the base image that a user has chosen; None means the image in the server's configuration. Raises
    StartFailure if the installation has no build files.
    """
    if base is not None:
        return image_definition(config.sandbox_flavour, base).image
    return config.sandbox_image or image_definition(config.sandbox_flavour, config.sandbox_base_image).image


def flavour_of(image: str) -> SandboxFlavour | None:
    """Returns the flavour of a sandbox image that Slipway has built: `full` (with a browser and fonts) or
    `slim`. Reads it from the image's name. Returns None for all other images.
    """
    name = image.rpartition("/")[2]
    return next((one for one in FLAVOURS if name.startswith(f"{REPOSITORY}:{one}-")), None)


def is_made_here(base: str) -> bool:
    """Returns whether Slipway has built this base image from a user's Dockerfile (custom_base.py). Such an
    image is in no registry.
    """
    return base.startswith(f"{BASE_REPOSITORY}:")


def current_images(config: Config, chosen: Collection[str] = ()) -> frozenset[str]:
    """Returns the names of all images that this version of Slipway needs. All other images of Slipway can be
    removed. Blocks the thread.

    `chosen`: the names of the base images that users have chosen. For each of them and for the configured
    base image, the result contains the image that sandboxes start from and the image with the dependencies.
    Both are contained with and without a browser and fonts. The result also contains those of the base images
    that Slipway has built, and the image that `config` names for sandboxes.
    """
    bases = {config.sandbox_base_image, *chosen}
    pairs = [(flavour, base) for flavour in FLAVOURS for base in bases] if _has_build_files() else []
    definitions = [image_definition(flavour, base) for flavour, base in pairs]
    ours = {name for definition in definitions for name in (definition.dependencies, definition.image)}
    return frozenset(ours | {image_name(config)} | {base for base in bases if is_made_here(base)})


def build_context(ingredients: BuildInputs) -> bytes:
    """Returns a tar, as bytes, with exactly the files that `ingredients` names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in _files(ingredients):
            # No owners and no times, so that equal content gives an equal context.
            member = tarfile.TarInfo(str(path.relative_to(SOURCE_TREE)))
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)
    return buffer.getvalue()


def _digest(ingredients: BuildInputs, *names: str) -> str:
    digest = hashlib.sha256("\0".join(names).encode())
    for path in _files(ingredients):
        content = path.read_bytes()
        digest.update(f"\0{path.relative_to(SOURCE_TREE)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def _has_build_files() -> bool:
    return (SOURCE_TREE / DEPENDENCIES.dockerfile).exists()


def _files(ingredients: BuildInputs) -> Iterator[Path]:
    if not _has_build_files():
        raise StartFailure(
            "sandbox_image_build_failed",
            "This installation has no build files for the sandbox image.",
            fix="Run Slipway from its source tree, or name a ready image in SLIPWAY_SANDBOX_IMAGE.",
        )
    for part in (ingredients.dockerfile, *ingredients.copied):
        root = SOURCE_TREE / part
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
