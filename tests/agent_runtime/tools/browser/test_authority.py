"""The browser trusts the app server's certificate authority. It signs for hosts to whose requests a
credential is added.
"""

import shutil
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent_runtime.server.outgoing.authority_trust import trust
from agent_runtime.tools.browser.browser import start_browser
from agent_runtime.workspace.environment import set_trusted
from agent_runtime.workspace.private_dir import make_private_dir
from app_server.core.config import Config
from app_server.core.encryption import load_cipher
from app_server.egress.tls.authority import certificate_file, load_authority
from tests.agent_runtime.tools.browser.conftest import Driver
from tests.support.requirements import need_program

pytestmark = pytest.mark.browser


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<h1>Hello over TLS</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the URL of an HTTPS server with a certificate of the app server's authority, and the authority's
    certificate.
    """
    config = Config(home=tmp_path / "home")
    config.home.mkdir()
    context: ssl.SSLContext = load_authority(config, load_cipher(config)).context_for("localhost")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hello)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_port}/", certificate_file(config).read_bytes()
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_page_of_a_host_with_a_credential_opens(
    browser: Driver, authority: tuple[str, bytes], tmp_path: Path
) -> None:
    need_program("certutil")
    address, certificate = authority
    trust(tmp_path, certificate)
    try:
        await browser.open(address)
        text = await browser.content()
    finally:
        set_trusted({})

    assert "Hello over TLS" in text


async def test_a_second_start_in_the_same_profile_works(authority: tuple[str, bytes], tmp_path: Path) -> None:
    """In containers, Chromium's first start fails (its own sandbox is not available), and it is started
    again.
    """
    need_program("certutil")
    trust(tmp_path, authority[1])
    profile = make_private_dir("browser")
    try:
        for _ in range(2):
            browser = await start_browser(profile, [], tmp_path)
            await browser.end()
        assert (profile / ".pki/nssdb/cert9.db").exists()
    finally:
        set_trusted({})
        shutil.rmtree(profile)


async def test_without_it_the_page_is_refused(browser: Driver, authority: tuple[str, bytes]) -> None:
    found = await browser.call("navigate", url=authority[0])

    assert found.is_error
    assert "CERT_AUTHORITY" in found.text
