"""VS Code and the desktop of a container work in a real Chromium. They are reached through the gateway."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from playwright.sync_api import FrameLocator, expect

from tests.support.browser import Visitor, save_screenshot, visitor
from tests.support.plain_http import NO_TLS
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = pytest.mark.browser

VS_CODE = "'^/opt/node/bin/node .*/out/node/entry.js'"
COLOURS = """canvas => {
  const pixels = new Uint32Array(
    canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)
  return new Set(pixels).size
}"""


class Inside:
    """A conversation and its sandbox, as its owner uses them."""

    def __init__(self, server: AppServerProcess, client: httpx.Client, conversation_id: str) -> None:
        self.server = server
        self.client = client
        self.id = conversation_id

    def run(self, command: str) -> str:
        reply = self.client.post(
            f"/app-conversations/{self.id}/execute-bash-command", json={"command": command}
        )
        return str(reply.raise_for_status().json()["stdout"] or "").strip()

    def start(self, name: str) -> httpx.Response:
        return self.client.post(f"/sandboxes/{self.id}/runtime-plugins/{name}/start")

    def wait_for(self, command: str, wanted: str) -> None:
        wait_until(lambda: self.run(command) == wanted, lambda: f"{command}: {self.run(command)!r}")

    def open(self, someone: Visitor, tab: str) -> FrameLocator:
        someone.sign_in(self.server)
        someone.page.goto(f"{self.server.url}/conversations/{self.id}")
        someone.page.get_by_role("tab", name=tab).click()
        return someone.page.frame_locator(f"iframe[title='{tab}']")


def bring_up(server: AppServerProcess, llm: ScriptedLLM) -> Iterator[Inside]:
    llm.aside = say("A title")
    llm.script(call("finish", message="done"))
    with server.client() as client:
        add_model(client, llm.base_url, llm.api_key)
        conversation_id = start_conversation(client, "x", llm_profile="scripted", confirmation_mode="never")
        wait_for_status(client, conversation_id, "finished")
        yield Inside(server, client, conversation_id)


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    environment = {"SLIPWAY_SANDBOX_IMAGE": sandbox_image("full")}
    home = tmp_path_factory.mktemp("screens") / "home"
    with (
        ScriptedLLM() as llm,
        AppServerProcess(home, sandbox="docker", environment=environment) as server,
    ):
        yield from bring_up(server, llm)


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_vs_code_edits_a_file_of_the_conversation_and_runs_a_command(inside: Inside) -> None:
    inside.run("echo before > notes.txt")
    with visitor() as someone:
        # Tests use an incognito window, in which a frame of another site can store nothing.
        code = inside.open(someone, "VS Code")
        code.get_by_role("treeitem", name="notes.txt").dblclick()
        expect(code.get_by_role("tab", name="notes.txt")).to_be_visible()
        code.locator(".view-lines").first.click()
        keyboard = someone.page.keyboard
        keyboard.press("Control+Home")
        keyboard.type("edited ")
        keyboard.press("Control+S")
        inside.wait_for("cat notes.txt", "edited before")

        keyboard.press("Control+Backquote")
        code.locator(".xterm-screen").first.click()
        keyboard.type("echo $(id -u) $(wc -l < notes.txt) > by-terminal\n")
        inside.wait_for("cat by-terminal", "10001 1")
        save_screenshot(someone.page, "vscode")

    # Below a URL path the pages of VS Code would stay blank, so the request is refused.
    link = inside.client.post(f"/sandboxes/{inside.id}/links", json={"name": "VSCODE"}).raise_for_status()
    token = httpx.URL(link.json()["url"]).params["token"]
    refused = httpx.get(f"{inside.server.url}/preview/{token}/", trust_env=False)
    assert (refused.status_code, refused.json()["code"]) == (409, "host_name_needed")


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_the_link_to_vs_code_that_the_sandbox_lists_opens_it(inside: Inside) -> None:
    (info,) = inside.client.get("/sandboxes", params={"id": inside.id}).raise_for_status().json()
    (url,) = (httpx.URL(one["url"]) for one in info["exposed_urls"] if one["name"] == "VSCODE")
    with httpx.Client(base_url=inside.server.url, trust_env=False, verify=NO_TLS) as anyone:
        host = {"Host": url.netloc.decode()}
        opened = anyone.get(url.raw_path.decode(), headers=host)
        assert opened.status_code == httpx.codes.SEE_OTHER, opened.text
        cookie = opened.headers["set-cookie"].partition(";")[0]
        folder = httpx.URL(opened.headers["location"])
        shown = anyone.get(folder.raw_path.decode(), headers={**host, "Cookie": cookie})
        assert shown.status_code == httpx.codes.OK, shown.text
        assert "vscode-workbench-web-configuration" in shown.text
        assert folder.params["folder"] == inside.run("pwd")
    plugins = inside.client.get(f"/sandboxes/{inside.id}/runtime-plugins").raise_for_status().json()["items"]
    assert {one["name"]: one["status"] for one in plugins}["vscode"] == "running"


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_the_desktop_shows_a_terminal_that_the_agent_opened_and_the_user_types_into(inside: Inside) -> None:
    assert inside.start("desktop").json()["status"] == "running"
    inside.run("setsid xterm -geometry 80x20+40+40 > /dev/null 2>&1 &")
    with visitor() as someone:
        desktop = inside.open(someone, "Desktop")
        expect(desktop.locator("html[data-connected]")).to_be_visible()
        canvas = desktop.locator("canvas")
        wait_until(lambda: canvas.evaluate(COLOURS) > 5, lambda: "the desktop stays blank")

        def arrives() -> bool:
            canvas.click(position={"x": 100, "y": 60})
            someone.page.keyboard.type("echo typed > on-the-desktop\n", delay=20)
            return inside.run("cat on-the-desktop") == "typed"

        # The terminal may open later than the desktop, so the test types again until the keys arrive.
        wait_until(arrives, lambda: "no keys arrive in the terminal")
        save_screenshot(someone.page, "desktop")


BROWSER = "pgrep -o -x 'chromium|chrome'"
QUIET_SECONDS = 10


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_the_browser_of_the_desktop_makes_no_calls_by_itself(inside: Inside) -> None:
    assert inside.start("desktop").json()["status"] == "running"
    script = "$(tr '\\0' '\\n' < /proc/$(pgrep -o jwm)/environ | sed -n s/^DESKTOP_BROWSER=//p)"
    inside.run(f'setsid sh "{script}" about:blank > /dev/null 2>&1 &')
    age = f"ps -o etimes= -p $({BROWSER})"
    wait_until(lambda: int(inside.run(age) or 0) >= QUIET_SECONDS, lambda: inside.run("ps -eo etimes,args"))

    tried = inside.client.get(
        "/settings/network/records", params={"sandbox_id__eq": inside.id}
    ).raise_for_status()
    asked = inside.client.get(f"/app-conversations/{inside.id}/network").raise_for_status()
    assert tried.json()["items"] == []
    assert asked.json()["refused"] == []
    inside.run(f"kill $({BROWSER})")


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_a_program_that_is_started_twice_runs_once_and_restarts_after_a_kill(inside: Inside) -> None:
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(inside.start, ["vscode", "vscode"]))
    assert [one.json()["status"] for one in both] == ["running", "running"], both[0].text
    first = inside.run(f"pgrep -f {VS_CODE}")
    assert len(first.split()) == 1, first

    inside.run(f"pkill -9 -f {VS_CODE}; pkill -9 Xvnc")
    # The server notices the end of the programs a moment after the kill.
    wait_until(lambda: stopped(inside) == {"vscode", "desktop"}, lambda: f"stopped: {stopped(inside)}")
    assert inside.start("vscode").json()["status"] == inside.start("desktop").json()["status"] == "running"
    assert inside.run(f"pgrep -f {VS_CODE}") != first


def stopped(inside: Inside) -> set[str]:
    plugins = inside.client.get(f"/sandboxes/{inside.id}/runtime-plugins").json()["items"]
    return {one["name"] for one in plugins if one["status"] == "stopped"}


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_screens_work_in_every_isolated_container_and_open_no_port(inside: Inside) -> None:
    walls = inside.run("id -u; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; touch /x 2>&1")
    assert walls.split()[0] == "10001"
    assert "CapEff:\t0000000000000000" in walls
    assert "NoNewPrivs:\t1" in walls
    assert "Read-only file system" in walls
    listening = inside.client.get(f"/sandboxes/{inside.id}/ports").json()["ports"]
    assert listening == []


def test_a_missing_program_is_not_offered_and_the_server_says_how_to_install_it(
    server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    for inside in bring_up(server, scripted_llm):
        refused = inside.start("vscode")
        assert (refused.status_code, refused.json()["code"]) == (503, "vscode_unavailable")
        assert "There is no VS Code here" in refused.json()["detail"]
        assert "install code-server" in refused.json()["fix"]
        with visitor() as someone:
            someone.sign_in(inside.server)
            asked = f"**/sandboxes/{inside.id}/runtime-plugins"
            with someone.page.expect_response(asked):
                someone.page.goto(f"{inside.server.url}/conversations/{inside.id}")
            expect(someone.page.get_by_role("tab", name="Preview")).to_be_visible()
            expect(someone.page.get_by_role("tab", name="VS Code")).to_have_count(0)
            expect(someone.page.get_by_role("tab", name="Desktop")).to_have_count(0)
