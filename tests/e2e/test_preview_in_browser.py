"""The preview shows a real Vite server in a sandbox. The app server has no preview domain, so each port has a
URL path instead of a host name.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import FrameLocator, expect

from tests.support.browser import Visitor, visitor
from tests.support.ports import free_port
from tests.support.server import (
    AppServerProcess,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = pytest.mark.browser

VITE = Path(__file__).parents[2] / "frontend/node_modules/vite/bin/vite.js"
FILES = {
    "index.html": '<!doctype html><h1></h1><script type="module" src="/main.js"></script>',
    "main.js": (
        "import './style.css'\n"
        "const show = (text) => { document.querySelector('h1').textContent = text }\n"
        "import text from './text.js'\nshow(text)\n"
        "import.meta.hot.accept('./text.js', (changed) => show(changed.default))\n"
    ),
    "text.js": "export default 'one'\n",
    "style.css": "h1 { color: rgb(1, 2, 3) }",
}


@pytest.fixture
def below_a_path(tmp_path: Path) -> Iterator[AppServerProcess]:
    """Yields an app server whose sandboxes are not isolated, so that they can use the programs installed
    here.
    """
    environment = {"SLIPWAY_PREVIEW_DOMAIN": "", "SLIPWAY_PROCESS_ISOLATION": "none"}
    with AppServerProcess(tmp_path / "home", sandbox="process", environment=environment) as server:
        yield server


class Project:
    """A web project in the sandbox of a conversation, with its development server."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.port = free_port()
        self.id = start_conversation(client, "Look around.", llm_profile="demo")
        wait_for_status(client, self.id, "finished")
        self.run("mkdir app")
        for name, text in FILES.items():
            self.write(name, text)

    def run(self, command: str) -> None:
        body = {"command": command}
        reply = self.client.post(f"/app-conversations/{self.id}/execute-bash-command", json=body)
        assert reply.raise_for_status().json()["exit_code"] == 0, reply.text

    def write(self, name: str, text: str) -> None:
        self.run(f"printf %s {shlex.quote(text)} > app/{name}")

    def serve(self, *options: str) -> None:
        command = shlex.join(["node", str(VITE), "--port", str(self.port), "--strictPort", *options])
        self.run(f"(cd app; {command} >../vite.log 2>&1 & echo $! >../vite.pid)")
        wait_until(lambda: self.port in self.ports(), lambda: f"ports: {self.ports()}")

    def end(self) -> None:
        self.run("kill $(cat vite.pid)")
        wait_until(lambda: self.port not in self.ports(), lambda: f"ports: {self.ports()}")

    def ports(self) -> set[int]:
        sandbox = self.client.get("/app-conversations", params={"ids": self.id}).json()[0]["sandbox_id"]
        found = self.client.get(f"/sandboxes/{sandbox}/ports").raise_for_status().json()
        return {one["port"] for one in found["ports"]}


def shown(someone: Visitor, project: Project) -> FrameLocator:
    """Opens the page of the project's port. Returns it when Vite is connected and can report changes."""
    page = someone.page
    with page.expect_console_message(lambda message: "[vite] connected" in message.text):
        page.get_by_role("button", name=str(project.port)).click()
    frame = page.frame_locator(f"iframe[title='Page of port {project.port}']")
    expect(frame.get_by_role("heading")).to_have_css("color", "rgb(1, 2, 3)")
    return frame


def test_plain_vite_and_vite_with_a_base_path_are_shown_and_show_changes(
    below_a_path: AppServerProcess,
) -> None:
    with below_a_path.client() as client, visitor() as someone:
        project = Project(client)
        project.serve()
        someone.sign_in(below_a_path)
        page = someone.page
        page.goto(f"{below_a_path.url}/conversations/{project.id}")
        page.get_by_role("tab", name="Preview").click()
        heading = shown(someone, project).get_by_role("heading")
        expect(heading).to_have_text("one")
        project.write("text.js", "export default 'two'")
        expect(heading).to_have_text("two")

        page.get_by_role("button", name="Base path").click()
        page.get_by_role("button", name="Get a base path").click()
        base = page.locator("code", has_text="/preview/").text_content()
        assert base
        someone.check_layout("preview-base-path")
        page.keyboard.press("Escape")
        project.end()
        project.serve("--base", base)
        heading = shown(someone, project).get_by_role("heading")
        expect(heading).to_have_text("two")
        expect(page.locator(f"iframe[src$='{base}']")).to_be_visible()
        project.write("text.js", "export default 'three'")
        expect(heading).to_have_text("three")
        # The sandbox is not isolated, so a program that a command has started would not be ended with it.
        project.end()
