"""Builds the sandbox images of this source, if they do not exist.

Tests use the slim image, which CI has to build each time. Tests that need the browser ask for the full image.
"""

import argparse
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
    """Returns the name of the image. If several test processes call this, one builds and the others wait."""
    if flavour == "full":
        sandbox_image("slim")  # both have the same first stages, which are built once
    with (Path(tempfile.gettempdir()) / f"slipway-test-image-{flavour}.lock").open("w") as lock:
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
    parser = argparse.ArgumentParser(description="Builds the sandbox images of the tests.")
    parser.add_argument("flavour", nargs="?", choices=("slim", "full"), default="full", help="full: both")
    sandbox_image(parser.parse_args().flavour)
