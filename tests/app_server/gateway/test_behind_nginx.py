"""Tests of an app server behind nginx with TLS, with the configuration of docs/reverse-proxy.md."""

import asyncio
import re
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from app_server.main import WithState
from app_server.sign_in.service import create_link
from app_server.users.models import User
from tests.app_server.conftest import App, listening
from tests.app_server.gateway.conftest import Site, link
from tests.app_server.gateway.pages import open_sign_in
from tests.support.apps import public_app
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.requirements import NGINX_PATH
from tests.support.steady_chromium import STEADY_CHROMIUM

pytestmark = [pytest.mark.browser, pytest.mark.nginx]

GUIDE = Path(__file__).parents[3] / "docs" / "reverse-proxy.md"
NAMES = "subjectAltName=DNS:slipway.test,DNS:*.preview.slipway.test"
COOKIE = "__Host-slipway_session"

SIGN_IN = """async (token) => (await fetch('/api/v1/sign-in/link', {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({token}),
})).status"""
ECHO = """() => new Promise((resolve, reject) => {
    const socket = new WebSocket(location.origin.replace('http', 'ws') + '/echo', ['one', 'two'])
    let count = 0
    socket.onmessage = ({data}) => {
        if (count++) resolve([socket.protocol, data])
        else socket.send('hello')
    }
    socket.onerror = () => reject(new Error('the socket failed'))
})"""
COUNTED = """async () => (await fetch('/counted', {
    method: 'POST', body: new Uint8Array(30_000_000),
})).text()"""
TOSS = f"() => {{ document.cookie = '{COOKIE}=tossed; domain=slipway.test; path=/; secure' }}"
READ = """async (ours) => {
    try { return (await fetch(ours + '/api/v1/users/me', {credentials: 'include'})).status }
    catch (error) { return error.name }
}"""
FORGE = """async (ours) => {
    const told = {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"name": "stolen"}'}
    return (await fetch(ours + '/api/v1/api-keys', told)).type
}"""
FRAME = """(url) => {
    const frame = document.createElement('iframe')
    frame.sandbox = 'allow-scripts allow-same-origin'
    frame.src = url
    document.body.replaceChildren(frame)
}"""


@asynccontextmanager
async def nginx(folder: Path, port: int, upstream: str) -> AsyncIterator[None]:
    """Runs nginx with the configuration of the guide. Only names, paths and ports are different.

    upstream: the URL of the app server.
    """
    guide = re.search(r"```nginx\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert guide
    site = guide[1].replace("443 ssl", f"127.0.0.1:{port} ssl").replace("/etc/ssl", str(folder))
    site = site.replace("slipway.example.org *.preview.example.org", "slipway.test *.preview.slipway.test")
    site = site.replace("127.0.0.1:3000", urlsplit(upstream).netloc)
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{name}_temp_path {folder}/{name};" for name in temporary)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log stderr; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off;\n{paths}\n{site}\n}}\n"
    )
    await asyncio.to_thread(_make_certificate, folder)
    program = shutil.which("nginx", path=NGINX_PATH)
    assert program
    with (folder / "nginx.log").open("wb") as log:
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        try:
            await _until_it_answers(port, process)
            yield
        finally:
            process.terminate()
            await process.wait()


def _make_certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subject = ["-subj", "/CN=slipway.test", "-addext", NAMES]
    subprocess.run(
        [*command, *subject, "-keyout", folder / "slipway.key", "-out", folder / "slipway.crt"],
        check=True,
        capture_output=True,
    )


async def _until_it_answers(port: int, process: asyncio.subprocess.Process) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    async with httpx.AsyncClient(verify=False) as client:  # noqa: S501 (our own, made a moment ago)
        while True:
            assert process.returncode is None, "nginx ended; see nginx.log"
            assert time.monotonic() < deadline
            try:
                await client.get(f"https://127.0.0.1:{port}/health", headers={"Host": "slipway.test"})
            except httpx.TransportError:
                await asyncio.sleep(0.05)
            else:
                return


@asynccontextmanager
async def a_browser() -> AsyncIterator[BrowserContext]:
    resolver = "--host-resolver-rules=MAP *.slipway.test 127.0.0.1, MAP slipway.test 127.0.0.1"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=STEADY_CHROMIUM, args=["--no-sandbox", "--disable-gpu", resolver]
        )
        context = await browser.new_context(ignore_https_errors=True)
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        yield context
        await context.close()
        await browser.close()


async def test_previews_work_behind_nginx_and_cannot_reach_us(
    app: App, owner: User, client: httpx.AsyncClient, site: Site, tmp_path: Path
) -> None:
    port = free_port()
    ours = f"https://slipway.test:{port}"
    config = app.config.model_copy(update={"public_url": ours, "preview_domain": "preview.slipway.test"})
    public = WithState(public_app(config), {**app.state, "config": config})
    headers = {**client.headers, "Host": f"slipway.test:{port}"}
    async with listening(public) as upstream, nginx(tmp_path, port, upstream), a_browser() as context:
        async with httpx.AsyncClient(base_url=upstream, headers=headers) as caller:
            url = await link(caller, site.sandbox.id, port=site.port, path="/given")
        assert url.startswith(f"https://{site.name}.preview.slipway.test:{port}/")
        page = await context.new_page()
        async with app.database.session() as session:
            token = await create_link(session, owner.id)
        await open_sign_in(page, ours)
        assert await page.evaluate(SIGN_IN, token) == 200
        await _visit(page, url)
        await _attack(page, context, ours)
        assert "stolen" not in (await client.get("/api/v1/api-keys")).text
        await open_sign_in(page, ours)
        await page.evaluate(FRAME, url)
        heading = page.frame_locator("iframe").get_by_role("heading", name="given")
        await expect(heading).to_be_visible(timeout=PATIENCE_SECONDS * 1000)


async def _visit(page: Page, url: str) -> None:
    await page.goto(url)
    assert await page.inner_text("h1") == "given"
    assert "token" not in page.url
    assert await page.evaluate(ECHO) == ["two", "hello"]
    assert await page.evaluate(COUNTED) == "30000000"


async def _attack(page: Page, context: BrowserContext, ours: str) -> None:
    """Attacks the app server from a sandbox's page on the same site, where the browser sends the app
    server's cookie. Checks that each attack fails.

    ours: the origin of the app server.
    """

    async def cookie() -> list[str]:
        return [one["value"] for one in await context.cookies(ours) if one["name"] == COOKIE]

    before = await cookie()
    assert len(before) == 1
    await page.evaluate(TOSS)
    assert await cookie() == before
    assert await page.evaluate(READ, ours) == "TypeError"
    with pytest.raises(Exception, match="Failed to fetch"):
        await page.evaluate(FORGE, ours)
