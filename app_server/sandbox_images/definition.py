"""The build files and the names of the sandbox images. A name is computed from the image's content, so equal
content has an equal name.
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
"""The runtime plugins of each flavour."""


@dataclass(frozen=True)
class BuildInputs:
    """The input of one `docker build`: its Dockerfile, and the files and folders that it copies."""

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
    """The names of the two images that are built for one flavour and base image. `dependencies`: the image
    without the agent server; its name changes only if its build files change, above all the lock files.
    `image`: the same with this version's agent server.
    """

    flavour: SandboxFlavour
    base: str
    dependencies: str
    image: str


@cache
def image_definition(flavour: SandboxFlavour, base: str) -> ImageDefinition:
    """Returns the image names for this flavour and base image. The build files are read once, like the
    running code. Blocking.

    Raises StartFailure if there is no source tree.
    """
    dependencies = f"{REPOSITORY}:{flavour}-lock-{_digest(DEPENDENCIES, base, flavour)}"
    image = f"{REPOSITORY}:{flavour}-{_digest(AGENT_SERVER, dependencies)}"
    return ImageDefinition(flavour, base, dependencies, image)


def image_name(config: Config, base: str | None = None) -> str:
    """Returns the name of the image that sandboxes start from, built on `base` if given. Blocking. Raises
    StartFailure if there is no source tree.
    """
    if base is not None:
        return image_definition(config.sandbox_flavour, base).image
    return config.sandbox_image or image_definition(config.sandbox_flavour, config.sandbox_base_image).image


def flavour_of(image: str) -> SandboxFlavour | None:
    """Returns the flavour of an image that this machine has built, as its name tells. Returns None for other
    images.
    """
    name = image.rpartition("/")[2]
    return next((one for one in FLAVOURS if name.startswith(f"{REPOSITORY}:{one}-")), None)


def is_made_here(base: str) -> bool:
    """Returns whether the base image was built by Slipway from a user's Dockerfile (custom_base.py). No
    registry has such an image.
    """
    return base.startswith(f"{BASE_REPOSITORY}:")


def current_images(config: Config, chosen: Collection[str] = ()) -> frozenset[str]:
    """Returns the names of the images that this version starts sandboxes from, and of the images that they
    are built on, in every flavour. Blocking.

    `chosen`: the base images that users have chosen.
    """
    bases = {config.sandbox_base_image, *chosen}
    pairs = [(flavour, base) for flavour in FLAVOURS for base in bases] if _has_build_files() else []
    definitions = [image_definition(flavour, base) for flavour, base in pairs]
    ours = {name for definition in definitions for name in (definition.dependencies, definition.image)}
    return frozenset(ours | {image_name(config)} | {base for base in bases if is_made_here(base)})


def build_context(ingredients: BuildInputs) -> bytes:
    """Returns a tar with exactly the files that `ingredients` names."""
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
