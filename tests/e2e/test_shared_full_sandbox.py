"""Conversations share a container of the full image: browser and kernel are separate, ports are common."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from tests.e2e.test_full_image import picture_of, text_of
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    conversation,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]

SERVER = """import http.server, sys
PAGE = b"<title>?</title><script>document.title = localStorage.who || 'nobody'</script>"
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(PAGE)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Page).serve_forever()"""

COUNT = """python3 - <<'END'
import pathlib
wanted = b"SLIPWAY_CONVERSATION_ID={}"
found = 0
for place in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        found += wanted in place.read_bytes().split(b"\\0")
    except OSError:
        pass
print(found)
END"""
BROWSERS = "ls -d /tmp/slipway-browser-* 2>/dev/null | wc -l"


class Two:
    """Two conversations in one sandbox. Each has begun with its own server, browser page and
    notebook cell.
    """

    def __init__(self, server: AppServerProcess, client: httpx.Client, llm: ScriptedLLM) -> None:
        self.server = server
        self.client = client
        self._llm = llm
        strategy = {"sandbox_grouping_strategy": "GROUP_BY_NEWEST"}
        client.put("/settings/sandbox-grouping", json=strategy).raise_for_status()
        self.first = self.begin("first", 8101)
        self.second = self.begin("second", 8102)
        self.sandbox = conversation(client, self.first)["sandbox_id"]

    def begin(self, name: str, port: int) -> str:
        self._llm.script(
            call("terminal", command=_serving(port)),
            call("browser_navigate", url=f"http://127.0.0.1:{port}/"),
            call("browser_set_storage", storage_state=_storage(name, port)),
            call("execute_ipython_cell", code=f"import os; who = {name!r}; os.getpid()"),
            say(f"I am the {name}."),
        )
        return self._start(name)

    def _start(self, task: str) -> str:
        started = start_conversation(self.client, task, llm_profile="scripted", confirmation_mode="never")
        wait_for_status(self.client, started, "finished")
        return started

    def go_on(self, conversation_id: str, *calls: Json) -> list[Json]:
        """Makes the agent of the conversation call these tools. Returns the observations."""
        before = len(events(self.client, conversation_id))
        self._llm.script(*calls, say("So it is."))
        message = {"role": "user", "content": [{"type": "text", "text": "Go on."}], "run": True}
        url = f"/app-conversations/{conversation_id}"
        self.client.post(f"{url}/send-message", json=message).raise_for_status()
        wait_until(
            lambda: "So it is." in str(events(self.client, conversation_id)[before:]),
            lambda: "its last word",
        )
        wait_for_status(self.client, conversation_id, "finished")
        news = events(self.client, conversation_id)[before:]
        return [event["observation"] for event in news if "observation" in event]

    def run(self, conversation_id: str, command: str) -> str:
        url = f"/app-conversations/{conversation_id}/execute-bash-command"
        reply = self.client.post(url, json={"command": command}).raise_for_status()
        return str(reply.json()["stdout"] or "").strip()

    def pages(self, conversation_id: str) -> list[str]:
        seen = self.client.get(f"/app-conversations/{conversation_id}/browser").raise_for_status().json()
        return [page["url"] for page in seen["pages"]]

    def ports(self) -> dict[int, str | None]:
        found = self.client.get(f"/sandboxes/{self.sandbox}/ports").raise_for_status().json()["ports"]
        return {one["port"]: one.get("conversation_id") for one in found}

    def start(self, plugin: str, conversation_id: str) -> Json:
        url = f"/sandboxes/{self.sandbox}/runtime-plugins/{plugin}/start"
        reply = self.client.post(url, params={"conversation_id": conversation_id})
        started: Json = reply.raise_for_status().json()
        return started

    def count(self, conversation_id: str) -> int:
        """Returns the number of processes that the agent of the conversation has started."""
        return int(self.run(self.second, COUNT.format(UUID(conversation_id))))


def _serving(port: int) -> str:
    return (
        f"cat > serve.py <<'END'\n{SERVER}\nEND\nsetsid python3 serve.py {port} > /dev/null 2>&1 &\n"
        "curl --silent --fail --retry 20 --retry-connrefused --retry-delay 1 "
        f"http://127.0.0.1:{port}/ > /dev/null"
    )


def _storage(name: str, port: int) -> Json:
    entry = {"name": "who", "value": name}
    return {"cookies": [], "origins": [{"origin": f"http://127.0.0.1:{port}", "localStorage": [entry]}]}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    environment = {"SLIPWAY_SANDBOX_IMAGE": sandbox_image("full")}
    home: Path = tmp_path_factory.mktemp("two") / "home"
    with (
        ScriptedLLM() as llm,
        AppServerProcess(home, sandbox="docker", environment=environment) as server,
        server.client() as client,
    ):
        llm.aside = say("A title")
        add_model(client, llm.base_url, llm.api_key)
        yield Two(server, client, llm)


def test_each_has_a_browser_with_its_own_pages_and_storage(two: Two) -> None:
    assert conversation(two.client, two.second)["sandbox_id"] == two.sandbox
    assert two.pages(two.first) == ["http://127.0.0.1:8101/"]
    assert two.pages(two.second) == ["http://127.0.0.1:8102/"]

    # Both conversations open the same page. Each one sees only the storage of its browser.
    look = (
        call("browser_navigate", url="http://127.0.0.1:8101/"),
        call("browser_get_state", include_screenshot=True),
    )
    own, foreign = two.go_on(two.first, *look), two.go_on(two.second, *look)

    assert "Title: first" in text_of(own[-1])
    assert "Title: nobody" in text_of(foreign[-1])
    assert picture_of(own[-1])
    assert picture_of(foreign[-1])


def test_each_has_a_kernel_and_a_shell_with_its_own_variables(two: Two) -> None:
    look = (
        call("execute_ipython_cell", code="print(who, os.getcwd())"),
        call("terminal", command="export MINE=${MINE-$PWD}; echo $MINE"),
    )
    for name, each in (("first", two.first), ("second", two.second)):
        cell, shell, *_ = map(text_of, two.go_on(each, *look))
        place = two.run(each, "pwd")
        assert cell.strip() == f"{name} {place}"
        assert place in shell
    assert two.run(two.first, "pwd") != two.run(two.second, "pwd")


def test_ports_are_common_and_name_the_conversation_whose_agent_opened_them(two: Two) -> None:
    two.run(two.first, "setsid python3 -m http.server 8103 > /dev/null 2>&1 &")
    wait_until(lambda: 8103 in two.ports(), lambda: "a person's own server")
    expected = {8101: two.first, 8102: two.second, 8103: None}
    assert {port: two.ports().get(port, "missing") for port in expected} == expected


def test_vs_code_is_one_server_and_opens_the_directory_of_each(two: Two) -> None:
    one, other = two.start("vscode", two.first), two.start("vscode", two.second)
    assert one["port"] == other["port"]
    assert [one["path"], other["path"]] == [
        f"/?folder={two.run(each, 'pwd')}" for each in (two.first, two.second)
    ]
    assert two.start("desktop", two.first)["port"] == two.start("desktop", two.second)["port"]


def test_deleting_one_ends_what_is_its_own_and_nothing_else(two: Two) -> None:
    third = two.begin("third", 8104)
    assert conversation(two.client, third)["sandbox_id"] == two.sandbox
    place = two.run(third, "pwd")
    for name in ("vscode", "desktop"):
        two.start(name, third)
    own, browsers = two.count(two.second), two.run(two.second, BROWSERS)
    assert two.count(third) > 0

    two.client.delete(f"/app-conversations/{third}").raise_for_status()
    wait_until(
        lambda: two.run(two.second, f"[ -e {place} ] || echo gone") == "gone", lambda: "its directory to go"
    )

    assert two.count(third) == 0
    assert two.count(two.second) == own
    assert int(two.run(two.second, BROWSERS)) == int(browsers) - 1
    assert 8104 not in two.ports()
    assert two.ports()[8102] == two.second
    [cell, *_] = two.go_on(two.second, call("execute_ipython_cell", code="print(who)"))
    assert text_of(cell).strip() == "second"
    assert two.pages(two.second)
    plugins = two.client.get(f"/sandboxes/{two.sandbox}/runtime-plugins").raise_for_status().json()["items"]
    assert {one["name"] for one in plugins if one["status"] == "running"} == {"vscode", "desktop"}
