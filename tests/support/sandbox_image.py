"""The image of this very source, built if need be."""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from app_server.config import Config
from app_server.sandboxes.docker import DockerBackend


@cache
def sandbox_image() -> str:
    """Its name."""
    return asyncio.run(_build())


async def _build() -> str:
    with TemporaryDirectory() as home:
        backend = DockerBackend(Config(home=Path(home), sandbox="docker"))
        try:
            await backend.open()
            await backend.prepare(lambda _line: None)
        finally:
            await backend.close()
    assert backend.image is not None
    return backend.image
