"""Images that a user has chosen, built from a Dockerfile, and gone again in the end."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx

from app_server.core.config import DEFAULT_BASE_IMAGE
from app_server.sandbox_images.definition import image_definition
from tests.support.sandbox_image import FLAVOUR

# What a base is built from is all that the next build begins with: it is the image that is there, by another
# name, so that the engine remembers what comes on top. An engine that builds only what is needed says so.
QUICK = f"FROM {DEFAULT_BASE_IMAGE} AS first\nLABEL unique={{unique}}\nFROM {DEFAULT_BASE_IMAGE}\n"


@contextmanager
def own_image(client: httpx.Client, dockerfile: str = QUICK, **fields: Any) -> Iterator[dict[str, str]]:
    """What a conversation is begun with that starts from this: its `id` (sandbox_spec_id) and `base`.

    `unique`: what takes the place of {unique} in the Dockerfile. fields: what else is asked for.
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
