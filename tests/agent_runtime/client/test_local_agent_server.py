"""A program inside a sandbox finds the agent server of this sandbox and reports to the app server how it
ended.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent_runtime import LocalAgentServer, WorkspaceError
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

SANDBOX = "a" * 32


class AppServer(ThreadingHTTPServer):
    """A server in place of the app server: it answers like the app server's listener for sandboxes and keeps
    all reports.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reports: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: AppServer

    def do_GET(self) -> None:
        route = self.path.removeprefix(f"/api/v1/sandboxes/{SANDBOX}/settings/")
        secrets = [{"name": "TOKEN", "description": "Opens it"}, {"name": "OTHER", "description": None}]
        answers: dict[str, object] = {
            "secrets": {"secrets": secrets},
            "llm": {"model": "openai/scripted", "base_url": f"{self.server.url}/llm/mine/v1"},
        }
        known = self.headers["X-Session-API-Key"] == KEY and route in answers
        problem = {"code": "llm_profile_not_found", "detail": "There is no such profile.", "status": 404}
        self._answer(200 if known else 404, answers[route] if known else problem)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.reports.append((self.path, dict(self.headers), body))
        self._answer(500 if self.path == "/broken" else 200, {})

    def log_message(self, *_: object) -> None:
        """Does nothing, so that tests print no log lines."""

    def _answer(self, status: int, body: object) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    server = AgentServer(tmp_path_factory.mktemp("agent_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def app_server() -> Iterator[AppServer]:
    with AppServer() as app_server:
        thread = threading.Thread(target=app_server.serve_forever)
        thread.start()
        yield app_server
        app_server.shutdown()
        thread.join(PATIENCE_SECONDS)


@pytest.fixture
def environment(server: AgentServer, app_server: AppServer) -> dict[str, str]:
    return {
        "AGENT_SERVER_PORT": str(server.port),
        "SESSION_API_KEY": KEY,
        "SANDBOX_ID": SANDBOX,
        "SLIPWAY_URL": f"{app_server.url}/",
        "AUTOMATION_CALLBACK_URL": f"{app_server.url}/done",
        "AUTOMATION_RUN_ID": "run-7",
        "OPENHANDS_API_KEY": "key-of-the-automation",
    }


def test_commands_run_on_the_server_beside_it_and_the_end_is_told(
    server: AgentServer, app_server: AppServer, environment: dict[str, str]
):
    with LocalAgentServer(working_dir=str(server.path / "work"), environment=environment) as workspace:
        assert workspace.execute_command("echo here").stdout == "here\n"

    [(path, headers, body)] = app_server.reports
    assert (path, body) == ("/done", {"status": "COMPLETED", "run_id": "run-7"})
    assert headers["Authorization"] == "Bearer key-of-the-automation"


def test_a_failure_is_told_with_its_reason_and_goes_on(app_server: AppServer, environment: dict[str, str]):
    with pytest.raises(RuntimeError), LocalAgentServer(environment=environment):
        raise RuntimeError("the harbour is closed")

    [(_, _, body)] = app_server.reports
    assert body == {"status": "FAILED", "run_id": "run-7", "error": "the harbour is closed"}


@pytest.mark.parametrize("callback", ["{app}/broken", "http://127.0.0.1:{nobody}/", "no url"])
def test_a_callback_that_fails_is_no_failure(
    app_server: AppServer, environment: dict[str, str], callback: str
):
    url = callback.format(app=app_server.url, nobody=free_port())
    with LocalAgentServer(environment={**environment, "AUTOMATION_CALLBACK_URL": url}):
        pass


def test_the_session_key_goes_to_the_app_server_only(app_server: AppServer, environment: dict[str, str]):
    del environment["OPENHANDS_API_KEY"]
    with LocalAgentServer(environment=environment):
        pass
    with LocalAgentServer(app_server_url="http://elsewhere:3001", environment=environment):
        pass

    (_, own, _), (_, foreign, _) = app_server.reports
    assert own["X-Session-API-Key"] == KEY
    assert KEY not in str(foreign)


def test_the_model_and_the_secrets_come_without_their_values(
    app_server: AppServer, environment: dict[str, str]
):
    workspace = LocalAgentServer(environment=environment)

    llm = workspace.get_llm(temperature=0.5)
    assert (llm.model, llm.base_url, llm.api_key) == (
        "openai/scripted",
        f"{app_server.url}/llm/mine/v1",
        None,
    )
    assert workspace.get_secrets(["TOKEN"]) == {
        "TOKEN": {
            "kind": "LookupSecret",
            "url": f"{app_server.url}/api/v1/sandboxes/{SANDBOX}/settings/secrets/TOKEN",
            "description": "Opens it",
        }
    }
    assert set(workspace.get_secrets()) == {"TOKEN", "OTHER"}
    with pytest.raises(WorkspaceError, match="no such profile"):
        workspace.get_llm("unknown")


def test_without_a_sandbox_it_says_what_is_missing(environment: dict[str, str]):
    del environment["SANDBOX_ID"]
    with pytest.raises(WorkspaceError, match="SANDBOX_ID") as caught:
        LocalAgentServer(environment=environment).get_secrets()

    assert caught.value.code == "not_in_a_sandbox"


def test_the_port_and_the_key_of_the_server_have_defaults(tmp_path: Path):
    workspace = LocalAgentServer(environment={"OH_SESSION_API_KEYS_0": "of-the-server"})

    assert (workspace.host, workspace.api_key) == ("http://localhost:60000", "of-the-server")
