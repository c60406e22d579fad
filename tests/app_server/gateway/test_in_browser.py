"""Tests of pages of sandboxes in a real browser: what they can do, and which attacks fail."""

import json
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from app_server.core.config import Config
from app_server.main import WithState
from app_server.sandboxes.service import RunningSandbox
from app_server.sign_in.service import create_link
from app_server.users.models import User
from tests.app_server.conftest import App, listening
from tests.app_server.gateway.conftest import link, run, until_listening
from tests.app_server.gateway.pages import open_sign_in
from tests.support.apps import public_app
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.signed_in import PROOF_HEADER
from tests.support.steady_chromium import STEADY_CHROMIUM

pytestmark = pytest.mark.browser

VITE = Path(__file__).parents[3] / "frontend/node_modules/vite/bin/vite.js"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
SANDBOXED = "allow-scripts allow-forms allow-modals allow-popups allow-downloads"

# A web server that answers with its one page at each path that a link may have.
SERVER = """import http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        return "index.html" if path == "/" or path.startswith("/preview/") else "none"
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

# A page that tries each attack and writes the results into `document.title`.
HOSTILE = """<!doctype html><h1>harmless</h1><script type="module">
const ours = %s, found = {};
const attempt = async (name, what) => {
  try { found[name] = String(await what()) } catch (error) { found[name] = 'refused: ' + error.name }
};
try { document.cookie = 'slipway_session=tossed; domain=localhost; path=/' } catch {}
await attempt('cookie', () => document.cookie);
await attempt('api', async () => (await fetch(ours + '/api/v1/users/me', {credentials: 'include'})).text());
await attempt('opaque', async () =>
  (await fetch(ours + '/api/v1/users/me', {credentials: 'include', mode: 'no-cors'})).type);
await attempt('key', async () => (await fetch(ours + '/api/v1/api-keys', {method: 'POST', mode: 'no-cors',
  credentials: 'include', headers: {'Content-Type': 'text/plain'}, body: '{"name": "stolen"}'})).type);
await attempt('here', async () => (await fetch('/api/v1/users/me', {credentials: 'include'})).status);
const outside = () => { if (parent === self) throw new DOMException('', 'none'); return parent };
await attempt('parent', () => outside().document.title);
await attempt('address', () => outside().location.href);
await attempt('top', () => { outside().location = 'about:blank'; return 'moved' });
await attempt('socket', () => new Promise((resolve, reject) => {
  const socket = new WebSocket(ours.replace('http', 'ws') + '/api/v1/conversation/x/events/stream');
  socket.onopen = () => resolve('open'); socket.onerror = () => reject(new DOMException('', 'closed'));
}));
document.title = JSON.stringify(found);
</script>"""


@pytest.fixture
async def context() -> AsyncIterator[BrowserContext]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=STEADY_CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        context = await browser.new_context()
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        yield context
        await context.close()
        await browser.close()


async def sign_in(context: BrowserContext, app: App, owner: User, ours: str) -> dict[str, str]:
    """Signs the browser in as the owner. Returns the header that a page of the app server sends together
    with the cookie.

    ours: the origin of the app server.
    """
    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    reply = await context.request.post(
        f"{ours}/api/v1/sign-in/link", data={"token": token}, headers={"Origin": ours}
    )
    assert reply.ok, await reply.text()
    return {PROOF_HEADER: (await reply.json())["page_proof"]}


async def framed(page: Page, ours: str, url: str, sandbox: str) -> Any:
    """Opens a page of the app server with an iframe that shows `url`. Returns the iframe's content.

    ours: the origin of the app server.
    sandbox: the value of the iframe's attribute `sandbox`.
    """
    await open_sign_in(page, ours)
    await page.evaluate(
        """([url, sandbox]) => {
            const frame = document.createElement('iframe')
            frame.setAttribute('sandbox', sandbox)
            frame.src = url
            document.body.replaceChildren(frame)
        }""",
        [url, sandbox],
    )
    frame = page.frame_locator("iframe")
    await expect(frame.get_by_role("heading", name="harmless")).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
    handle = await page.query_selector("iframe")
    assert handle is not None
    return await handle.content_frame()


async def findings(frame: Any) -> dict[str, str]:
    await frame.wait_for_function("document.title.startsWith('{')")
    found: dict[str, str] = json.loads(await frame.title())
    return found


@pytest.mark.parametrize("form", ["name", "path"])
async def test_a_hostile_page_reaches_nothing_of_ours(
    app: App,
    owner: User,
    client: httpx.AsyncClient,
    sandbox: RunningSandbox,
    context: BrowserContext,
    form: str,
) -> None:
    config = app.config.model_copy(update={"preview_domain": ""} if form == "path" else {})
    public = WithState(public_app(config), {**app.state, "config": config})
    port = free_port()
    async with listening(public) as url:
        ours = f"http://localhost:{urlsplit(url).port}"
        page_text = HOSTILE % json.dumps(ours)
        await run(sandbox, f"mkdir site; printf %s {shlex.quote(page_text)} > site/index.html")
        await run(sandbox, f"printf %s {shlex.quote(SERVER)} > site/server.py")
        await run(sandbox, f"(cd site; python3 server.py {port} >/dev/null 2>&1 &)")
        await until_listening(sandbox, port)
        of_page = await sign_in(context, app, owner, ours)
        before = await context.cookies(ours)
        async with httpx.AsyncClient(
            base_url=url, headers={**client.headers, "Host": urlsplit(ours).netloc}
        ) as caller:
            # With `keeps_prefix` the gateway adds no scripts to the page, so none can change the attacks.
            preview = await link(caller, sandbox.id, port=port, keeps_prefix=True)
        page = await context.new_page()
        await page.goto(preview)
        alone = await findings(page)
        assert "token" not in page.url
        mine = SANDBOXED if form == "path" else f"{SANDBOXED} allow-same-origin"
        inside = await findings(await framed(page, ours, preview, mine))
        for found in (alone, inside):
            assert "tossed" not in found["cookie"], "it set a cookie for our name"
            assert "slipway" not in found["cookie"]
            for name in ("api", "parent", "address", "top", "socket"):
                assert found[name].startswith("refused"), (name, found)
            assert found["key"] in {"opaque", "refused: TypeError"}
            assert found["here"] in {"404", "401", "refused: TypeError"}
        assert page.url.startswith(ours), "it led our page away"
        assert await context.cookies(ours) == before
        me = await context.request.get(f"{ours}/api/v1/users/me", headers=of_page)
        assert me.ok, "it signed us out"
        keys = await context.request.get(f"{ours}/api/v1/api-keys", headers=of_page)
        assert keys.ok
        assert "stolen" not in await keys.text()


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    """Returns a configuration in which processes are not isolated, so that a sandbox can use the programs of
    this machine.
    """
    return Config(
        home=tmp_path / "home",
        database_url=database_url,
        sandbox="process",
        process_isolation="none",
        inner_port=free_port(),
    )


@pytest.mark.parametrize("form", ["name", "path", "told its path"])
async def test_a_vite_server_shows_changes_without_a_reload(
    app: App, client: httpx.AsyncClient, sandbox: RunningSandbox, context: BrowserContext, form: str
) -> None:
    is_told = form == "told its path"
    config = app.config.model_copy(update={} if form == "name" else {"preview_domain": ""})
    public = WithState(public_app(config), {**app.state, "config": config})
    port = free_port()
    script = (
        "import './style.css'\n"
        "const show = (text) => { document.querySelector('h1').textContent = text }\n"
        "import text from './text.js'\nshow(text)\n"
        "import.meta.hot.accept('./text.js', (changed) => show(changed.default))\n"
    )
    page_text = '<!doctype html><h1></h1><script type="module" src="/main.js"></script>'
    for name, text in (
        ("index.html", page_text),
        ("main.js", script),
        ("text.js", "export default 'one'\n"),
        ("style.css", "h1 { background: url(/picture.svg) }"),
        ("picture.svg", PICTURE),
    ):
        await run(sandbox, f"mkdir -p app; printf %s {shlex.quote(text)} > app/{name}")
    async with listening(public) as url:
        ours = f"localhost:{urlsplit(url).port}"
        async with httpx.AsyncClient(base_url=url, headers={**client.headers, "Host": ours}) as caller:
            preview = await link(caller, sandbox.id, port=port, keeps_prefix=is_told)
        base = f" --base {urlsplit(preview).path}" if is_told else ""
        vite = f"node {VITE} --port {port} --strictPort{base} >../vite.log 2>&1"
        await run(sandbox, f"(cd app; {vite} & echo $! >../vite.pid)")
        await until_listening(sandbox, port)
        page = await context.new_page()
        # Vite reports changes only to pages that are already connected.
        async with page.expect_console_message(lambda message: "connected" in message.text):
            await page.goto(preview)
        heading = page.get_by_role("heading")
        await expect(heading).to_have_text("one", timeout=PATIENCE_SECONDS * 1000)
        picture = "fetch('/picture.svg').then(async (reply) => (await reply.text()).includes('<svg'))"
        assert is_told or await page.evaluate(picture)
        await page.evaluate("window.kept = true")
        await run(sandbox, "printf %s \"export default 'two'\" > app/text.js")
        await expect(heading).to_have_text("two", timeout=PATIENCE_SECONDS * 1000)
        assert await page.evaluate("window.kept"), "it was loaded anew"
        # Without isolation, a background program of a command does not end with the sandbox.
        await run(sandbox, "kill $(cat vite.pid)")
