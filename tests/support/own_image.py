"""Builds images from a Dockerfile, as a user chooses them, and removes them in the end."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx

from app_server.core.config import DEFAULT_BASE_IMAGE
from app_server.sandbox_images.definition import image_definition
from tests.support.sandbox_image import FLAVOUR

# The build starts from the existing base image, so that the engine can use its cache for the layers on top.
# The stage `first` is not needed for the result; an engine that builds only what is needed leaves it out.
QUICK = f"FROM {DEFAULT_BASE_IMAGE} AS first\nLABEL unique={{unique}}\nFROM {DEFAULT_BASE_IMAGE}\n"


@contextmanager
def own_image(client: httpx.Client, dockerfile: str = QUICK, **fields: Any) -> Iterator[dict[str, str]]:
    """Registers an image with this Dockerfile and yields `id`, `base` and `unique`. Removes the image
    afterwards.

    `id`: the sandbox_spec_id for a conversation. `unique`: the text that replaces {unique} in the Dockerfile.
    fields: further fields of the request.
    """
    unique = uuid4().hex
    body = {"name": unique, "dockerfile": dockerfile.format(unique=unique), **fields}
    made = client.post("/sandbox-specs", json=body).raise_for_status().json()
    yield {"id": made["id"], "base": made["base"], "unique": unique}
    removed = client.delete(f"/sandbox-specs/{made['id']}")
    assert removed.is_success or removed.status_code == httpx.codes.NOT_FOUND, removed.text
    definition = image_definition(FLAVOUR, made["base"])
    for name in (definition.image, definition.dependencies, definition.base):
        subprocess.run(["docker", "image", "rm", name], capture_output=True, check=False)
