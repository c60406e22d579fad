"""The images of this very source, built if need be.

Tests run in the slim one, which CI has to make anew each time; what needs the browser asks for the full one.
"""

import asyncio
import fcntl
import tempfile
from functools import cache
from pathlib import Path

from app_server.core.config import Config, SandboxFlavour
from app_server.sandbox_backends.docker.backend import DockerBackend

FLAVOUR: SandboxFlavour = "slim"


@cache
def sandbox_image(flavour: SandboxFlavour = FLAVOUR) -> str:
    """Its name. Of the processes that run tests side by side, one builds and the others wait."""
    with (Path(tempfile.gettempdir()) / "slipway-test-images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return asyncio.run(_build(flavour))


async def _build(flavour: SandboxFlavour) -> str:
    with tempfile.TemporaryDirectory() as home:
        backend = DockerBackend(Config(home=Path(home), sandbox="docker", sandbox_flavour=flavour))
        try:
            await backend.open()
            await backend.prepare(lambda _line: None)
        finally:
            await backend.close()
    assert backend.image is not None
    return backend.image


if __name__ == "__main__":
    for each in ("slim", "full"):
        sandbox_image(each)
