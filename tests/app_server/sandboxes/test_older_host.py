"""Tests of a sandbox host of an older version, which does not support images that users have chosen."""

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app_server.core.errors import StartFailure
from app_server.core.sandbox_hosts import SandboxHost
from app_server.sandbox_backends.remote.host import Host
from app_server.sandbox_images.base_image import BaseImage, BuildFiles, BuildLimits

INFO = {
    "protocol": 1,
    "version": "0.0.9",
    "engine": "24",
    "image": None,
    "capacity_bytes": 1,
    "sandbox_memory_bytes": 1,
    "isolation_gap": None,
    "workspace_bytes": None,
    "workspace_kept_by": "none",
}
NOT_FOUND = {"title": "Not Found", "status": 404, "code": "not_found", "detail": "Not Found"}


class _OlderHost(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = (200, INFO) if self.path == "/v1/info" else (404, NOT_FOUND)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_arguments: object) -> None:
        """Writes nothing, so that requests do not appear in the output of the tests."""


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _OlderHost) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_an_older_host_fails_the_start_with_its_version_and_gets_no_files(
    url: str, tmp_path: Path
) -> None:
    told = SandboxHost(name="old", url=url, token_file=tmp_path / "token")
    host = Host(told, "token", "installation", ssl.create_default_context(), 20)

    async def files() -> tuple[BuildFiles, bytes] | None:
        raise AssertionError("nothing is to be sent")

    try:
        await host.greet()
        with pytest.raises(StartFailure) as failed:
            await host.prepare_base(BaseImage("debian:12", BuildLimits(), files), lambda _line: None)
    finally:
        await host.close()

    assert failed.value.code == "sandbox_host_refused"
    assert "old runs Slipway 0.0.9" in failed.value.cause
    assert "version of the app server" in failed.value.fix
