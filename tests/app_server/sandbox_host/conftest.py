"""Fixtures for the tests of the sandbox host, which uses the Docker engine of this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.sandbox_backends.remote.wire import TOKEN_HEADER
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image
from tests.support.server import wait_until


@dataclass
class Host:
    port: int
    token: str

    def client(self, token: str | None = None, **headers: str) -> httpx.Client:
        shown = {TOKEN_HEADER: self.token if token is None else token, **headers}
        url = f"http://127.0.0.1:{self.port}/v1"
        return httpx.Client(base_url=url, headers=shown, timeout=PATIENCE_SECONDS, trust_env=False)


def command(home: Path, **environment: str) -> dict[str, Any]:
    return {
        "args": [sys.executable, "-m", "app_server", "sandbox-host"],
        "env": {**os.environ, "SLIPWAY_HOME": str(home), **environment},
        "stdin": subprocess.DEVNULL,
    }


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    sandbox_image()
    home, port = tmp_path_factory.mktemp("host") / "home", free_port()
    log = home.with_name("log")
    ports = {"SLIPWAY_SANDBOX_HOST_PORT": str(port), "SLIPWAY_INNER_PORT": str(free_port())}
    with log.open("wb") as output:
        process = subprocess.Popen(**command(home, **ports), stdout=output, stderr=output)
    try:
        wait_until(
            lambda: process.poll() is not None or "is ready" in log.read_text(),
            lambda: f"the sandbox host:\n{log.read_text()}",
        )
        assert process.poll() is None, log.read_text()
        yield Host(port, (home / "host-token").read_text().strip())
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)
