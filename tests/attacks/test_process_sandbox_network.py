"""In a process sandbox, commands cannot reach the machine's network and cannot offer services on it."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from tests.support.outside import NEIGHBOUR
from tests.support.ports import free_port
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.bubblewrap, pytest.mark.timeout(300)]

# The script tries all these attacks and prints those that succeed.
PROBE = r"""
import json, socket, sys
ports, name = json.loads(sys.argv[1]), sys.argv[2]
done = []
places = [(socket.AF_INET, address) for address in ("127.0.0.1", "127.0.0.2", "0.0.0.0")]
places += [(socket.AF_INET6, address) for address in ("::1", "::ffff:127.0.0.1")]
for port in ports:
    for family, address in places:
        with socket.socket(family) as one:
            one.settimeout(5)
            try:
                one.connect((address, port))
                done.append(f"{address} {port}")
            except OSError:
                pass
with socket.socket(socket.AF_UNIX) as one:
    try:
        one.connect("\0" + name)
        done.append("abstract socket")
    except OSError:
        pass
interfaces = [name for _, name in socket.if_nameindex()]
if interfaces != ["lo"]:
    done.append(f"interfaces {interfaces}")
print("reached " + json.dumps(done))
"""


class _Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_arguments: object) -> None:
        """Prints nothing."""


@pytest.fixture
def neighbour() -> Iterator[int]:
    """Yields the port of an HTTP server that listens on all addresses of this machine."""
    with ThreadingHTTPServer(("0.0.0.0", 0), _Greeting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def abstract_name() -> Iterator[str]:
    name = f"slipway-test-{uuid4().hex}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        yield name


@pytest.fixture
def server(tmp_path: Path, neighbour: int) -> Iterator[AppServerProcess]:
    environment = {
        "SLIPWAY_PROCESS_ISOLATION": "bubblewrap",
        "SLIPWAY_EGRESS_HOSTS": json.dumps([f"{NEIGHBOUR}:{neighbour}"]),
        "SLIPWAY_EGRESS_PRIVATE": json.dumps([NEIGHBOUR]),
    }
    with AppServerProcess(tmp_path / "home", sandbox="process", environment=environment) as server:
        yield server


def test_commands_reach_nothing_of_the_machine_and_serve_nothing_on_it(
    server: AppServerProcess, scripted_llm: ScriptedLLM, neighbour: int, abstract_name: str
) -> None:
    scripted_llm.aside = say("A title")
    port = free_port()
    with server.client() as client:
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        scripted_llm.script(
            call("terminal", command="(cd /tmp; echo from the sandbox > page.html)"),
            call("terminal", command=f"(cd /tmp; python3 -m http.server {port} >/dev/null 2>&1 &)"),
            call("terminal", command=f"until curl -sS 127.0.0.1:{port}/page.html; do sleep 0.1; done"),
            call("browser_navigate", url=f"http://localhost:{port}/page.html"),
            call("browser_get_content"),
            call("finish", message="done"),
        )
        conversation_id = start_conversation(
            client, "serve", llm_profile="scripted", confirmation_mode="never"
        )
        wait_for_status(client, conversation_id, "finished")

        def run(command: str) -> str:
            url = f"/app-conversations/{conversation_id}/execute-bash-command"
            done = client.post(url, json={"command": command, "timeout": 60}).raise_for_status().json()
            return f"{done['stdout'] or ''}{done['stderr'] or ''}"

        [handle] = server.home.glob("sandboxes/*/process.json")
        ports = [server.port, server.inner_port, neighbour, json.loads(handle.read_text())["port"]]
        run(f"cat > /tmp/probe.py <<'END_OF_PROBE'\n{PROBE}\nEND_OF_PROBE")
        tried = run(f"python3 /tmp/probe.py '{json.dumps(ports)}' {abstract_name}")
        assert tried.startswith("reached []"), tried

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
        socket.create_server(("127.0.0.1", port)).close()

        # The permitted ways work: the proxy, the agent's page in the agent's browser, and the preview.
        assert run(f"curl -sS http://{NEIGHBOUR}:{neighbour}/") == "hello"
        assert "is not on this conversation's list" in run("curl -sS http://elsewhere.test/")
        told = [json.dumps(event["observation"]) for event in events(client, conversation_id)[::1]
                if "observation" in event]  # fmt: skip
        assert "from the sandbox" in told[2], told[2]
        assert "from the sandbox" in told[4], told[4]
        assert preview(client, server, conversation_id, port) == "from the sandbox\n"


def preview(client: httpx.Client, server: AppServerProcess, conversation_id: str, port: int) -> str:
    """Opens the web page that the agent serves through the user's preview link. Returns the
    text of the page.
    """
    [sandbox_id] = [one.name for one in (server.home / "sandboxes").iterdir()]

    def found() -> list[dict[str, object]]:
        listed = client.get(f"/sandboxes/{sandbox_id}/ports").raise_for_status().json()
        return [one for one in listed["ports"] if one["port"] == port]

    wait_until(lambda: bool(found()), lambda: f"{port} to be found")
    assert found()[0]["conversation_id"] == conversation_id
    link = client.post(f"/sandboxes/{sandbox_id}/links", json={"port": port}).raise_for_status().json()["url"]
    url = urlsplit(link)
    with httpx.Client(base_url=server.url, headers={"Host": url.netloc}, trust_env=False) as visitor:
        opened = visitor.get(f"{url.path}?{url.query}")
        visitor.headers["Cookie"] = opened.headers["set-cookie"].partition(";")[0]
        return visitor.get("/page.html").raise_for_status().text
