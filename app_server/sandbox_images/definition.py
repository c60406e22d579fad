"""What the sandbox images are made from, and the names that follow from it: equal content, equal name."""

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
"""Which of them each flavour has."""


@dataclass(frozen=True)
class Ingredients:
    """What one `docker build` reads: its Dockerfile, and the files and folders that it copies from."""

    dockerfile: str
    copied: tuple[str, ...]


DEPENDENCIES = Ingredients(
    "containers/sandbox/Dockerfile",
    (
        "containers/sandbox/node.lock",
        "containers/sandbox/python.lock",
        "containers/sandbox/web",
        "requirements-sandbox.lock",
    ),
)
AGENT_SERVER = Ingredients(
    "containers/sandbox/source.Dockerfile",
    (
        "containers/sandbox/chromium-policies.json",
        "containers/sandbox/entrypoint.sh",
        "containers/sandbox/commands",
        "agent_runtime",
    ),
)


@dataclass(frozen=True)
class Recipe:
    """`dependencies`: stays the same until a lock file does not. `image`: that, with this agent server."""

    flavour: SandboxFlavour
    base: str
    dependencies: str
    image: str


@cache
def recipe_of(flavour: SandboxFlavour, base: str) -> Recipe:
    """Read once, like the code that runs. Blocking. Raises StartFailure where there is no source tree."""
    dependencies = f"{REPOSITORY}:{flavour}-lock-{_digest(DEPENDENCIES, base, flavour)}"
    image = f"{REPOSITORY}:{flavour}-{_digest(AGENT_SERVER, dependencies)}"
    return Recipe(flavour, base, dependencies, image)


def image_name(config: Config, base: str | None = None) -> str:
    """What sandboxes start from here, on this base if one was chosen. Blocking, as above."""
    if base is not None:
        return recipe_of(config.sandbox_flavour, base).image
    return config.sandbox_image or recipe_of(config.sandbox_flavour, config.sandbox_base_image).image


def flavour_of(image: str) -> SandboxFlavour | None:
    """Of an image that was built here, by its name; None for others."""
    name = image.rpartition("/")[2]
    return next((one for one in FLAVOURS if name.startswith(f"{REPOSITORY}:{one}-")), None)


def is_made_here(base: str) -> bool:
    """Whether it was built from a user's own Dockerfile (custom_base.py): no registry has it."""
    return base.startswith(f"{BASE_REPOSITORY}:")


def current_images(config: Config, chosen: Collection[str] = ()) -> frozenset[str]:
    """What this version starts sandboxes from, and what that is made of, in every flavour. Blocking.

    `chosen`: the bases that users have.
    """
    bases = {config.sandbox_base_image, *chosen}
    recipes = (
        [recipe_of(flavour, base) for flavour in FLAVOURS for base in bases] if _has_build_files() else []
    )
    ours = {name for recipe in recipes for name in (recipe.dependencies, recipe.image)}
    return frozenset(ours | {image_name(config)} | {base for base in bases if is_made_here(base)})


def build_context(ingredients: Ingredients) -> bytes:
    """A tar of them, and nothing else."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in _files(ingredients):
            # No owners, no times: equal content is an equal context.
            member = tarfile.TarInfo(str(path.relative_to(SOURCE_TREE)))
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)
    return buffer.getvalue()


def _digest(ingredients: Ingredients, *names: str) -> str:
    digest = hashlib.sha256("\0".join(names).encode())
    for path in _files(ingredients):
        content = path.read_bytes()
        digest.update(f"\0{path.relative_to(SOURCE_TREE)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def _has_build_files() -> bool:
    return (SOURCE_TREE / DEPENDENCIES.dockerfile).exists()


def _files(ingredients: Ingredients) -> Iterator[Path]:
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
