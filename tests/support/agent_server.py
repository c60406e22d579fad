"""A real agent server process, which tests may kill and start again on the same files."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.forked_agents import ForkedAgentServer
from tests.support.forking import ForkedProcess, can_fork
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.plain_http import NO_TLS
from tests.support.ports import free_port

KEY = "session-canary"


@dataclass
class AgentServer:
    """A real agent server process. Its files below `path` stay when the process ends. Calls carry the session
    key.

    `python`: the Python interpreter that runs the server; empty for the interpreter of the tests. `prefix`:
    the beginning of the command, before the interpreter. `files`: the directory of conversations and
    workspace; None for `path`.

    If neither `python` nor `prefix` is given, the server starts faster: it is forked from another process
    that has already loaded the modules of the server.
    """

    path: Path
    report_url: str = ""
    python: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | ForkedProcess | None = None
    prefix: tuple[str, ...] = ()
    files: Path | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def http(self) -> httpx.Client:
        headers = {"X-Session-API-Key": KEY}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS, verify=NO_TLS)

    def start(self) -> None:
        """Starts the server and returns when it answers requests."""
        environment = {
            **os.environ,
            "OH_SESSION_API_KEYS_0": KEY,
            "OH_CONVERSATIONS_PATH": str((self.files or self.path) / "conversations"),
            "OH_WORKSPACE_PATH": str((self.files or self.path) / "project"),
            "OH_WEBHOOKS_0_BASE_URL": self.report_url,
        }
        arguments = ["--host", "127.0.0.1", "--port", str(self.port)]
        command = [*self.prefix, self.python or sys.executable, "-m", "agent_runtime.server", *arguments]
        with (self.path / "server.log").open("ab") as log:
            if self.python or self.prefix or not can_fork(environment):
                self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            else:
                files = {1: log.fileno(), 2: log.fileno()}
                self.process = ForkedAgentServer(arguments, environment, files)
        self._wait_until_it_answers()

    def kill(self) -> None:
        """Ends the server with SIGKILL, so that it cannot clean up."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends the server with SIGTERM, as an orderly shutdown does."""
        self._end(signal.SIGTERM)

    def log_text(self) -> str:
        return (self.path / "server.log").read_text()

    def call(self, method: str, path: str, **options: Any) -> Any:
        """Sends a request and returns the decoded JSON. Raises HTTPStatusError if the server answers with an
        error.
        """
        with self.http as http:
            reply = http.request(method, path, **options)
        reply.raise_for_status()
        return reply.json()

    def events(self, conversation_id: str) -> list[dict[str, Any]]:
        """Returns all events of the conversation. They are fetched page by page."""
        found: list[dict[str, Any]] = []
        page_id = None
        while True:
            params = {"limit": 100, **({"page_id": page_id} if page_id else {})}
            page = self.call("GET", f"/api/conversations/{conversation_id}/events/search", params=params)
            found += page["items"]
            page_id = page["next_page_id"]
            if page_id is None:
                return found

    def _end(self, sign: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(sign)
        self.process.wait(timeout=PATIENCE_SECONDS)
        self.process = None

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        pauses = pauses_between_looks()
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, self.log_text()
            try:
                health = httpx.get(f"{self.url}/health", timeout=PATIENCE_SECONDS, verify=NO_TLS)
                if health.status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                time.sleep(next(pauses))
        raise TimeoutError(self.log_text())
