"""Runs conversations on two simulated sandbox hosts, each with its own Docker engine."""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx

from agent_runtime.wire import API_KEY_HEADER
from app_server.core.config import Config
from app_server.core.encryption import load_cipher
from tests.support.forking import REST_SECONDS
from tests.support.sandbox_host import SANDBOX_BYTES, SandboxHostMachine, environment_for
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


@dataclass
class Site:
    """An app server with two sandbox hosts. `big` has memory for three sandboxes, `small` for two."""

    big: SandboxHostMachine
    small: SandboxHostMachine
    server: AppServerProcess
    client: httpx.Client
    llm: ScriptedLLM
    log_start: int = 0

    def log(self) -> str:
        """Returns what the app server has logged since the last `clear`."""
        return self.server.output()[self.log_start :]

    def clear(self) -> None:
        """Deletes all conversations, and waits until no sandbox is left on a host."""
        for item in self.client.get("/app-conversations/search").raise_for_status().json()["items"]:
            self.client.delete(f"/app-conversations/{item['id']}").raise_for_status()
        wait_until(lambda: not self._sandboxes(), self.story)
        self.log_start = len(self.server.output())

    def use_hosts(self, *machines: SandboxHostMachine) -> None:
        """Kills the app server, and starts it again with these hosts in its settings."""
        self.server.kill()
        self.server.configure(environment_for(machines, self.server.home.parent))
        self.server.start()

    def _sandboxes(self) -> list[Json]:
        """Returns the sandboxes of both hosts."""
        found: list[Json] = []
        for machine in (self.big, self.small):
            with machine.client() as host:
                found += host.get("/sandboxes").raise_for_status().json()
        return found

    def start(self, task: str, command: str) -> str:
        """Starts a conversation and returns its id when its agent has run this command."""
        self.llm.script(call("terminal", command=command), say("Done."))
        found = start_conversation(self.client, task, llm_profile="scripted")
        wait_for_status(self.client, found, "finished")
        return found

    def go_on(self, conversation_id: str, command: str) -> str:
        """Makes the agent run this command in an existing conversation. Returns the new events as JSON."""
        before = len(events(self.client, conversation_id))
        self.llm.script(call("terminal", command=command), say("Done again."))
        self._send(conversation_id)

        def is_over() -> bool:
            return "Done again." in json.dumps(events(self.client, conversation_id)[before:])

        wait_until(is_over, self.story)
        return json.dumps(events(self.client, conversation_id)[before:])

    def texts(self, conversation_id: str) -> str:
        return json.dumps(events(self.client, conversation_id))

    def back_up(self, sandbox_id: str, *conversation_ids: str) -> int:
        """Waits until the backup of the sandbox contains all events of these conversations. Returns the
        number of these events.
        """

        def said() -> int:
            return sum(len(events(self.client, each)) for each in conversation_ids)

        query = "SELECT position FROM archives WHERE kind = 'backup' AND sandbox_id = ?"
        wait_until(lambda: self._stored(query, sandbox_id) == said(), self.story)
        return said()

    def key_of(self, sandbox_id: str) -> str:
        """Returns the key with which the sandbox's agent server calls the inner listener of the app
        server.
        """
        encrypted = self._stored("SELECT encrypted_session_key FROM sandboxes WHERE id = ?", sandbox_id)
        return load_cipher(Config(home=self.server.home)).decrypt(str(encrypted))

    def _stored(self, query: str, sandbox_id: str) -> object:
        file = f"file:{self.server.home / 'slipway.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(file, uri=True)) as database:
            found = database.execute(query, [UUID(sandbox_id).hex]).fetchone()
        return found[0] if found else None

    def keep_at_work(self, conversation_id: str, command: str) -> None:
        """Makes the agent run this command and then sleep for 15 minutes. Returns when the command was
        started.
        """
        self.llm.script(call("terminal", command=f"{command}; sleep 900"))
        self._send(conversation_id)
        wait_until(lambda: "sleep 900" in self.texts(conversation_id), self.story)

    def _send(self, conversation_id: str) -> None:
        message = {"role": "user", "content": [{"type": "text", "text": "Go on."}], "run": True}
        path = f"/app-conversations/{conversation_id}/send-message"
        self.client.post(path, json=message).raise_for_status()

    def deliver(self, key: str, conversation_id: str, frames: list[Json]) -> int:
        """Sends a report of events to the app server's inner listener, as an agent server does. Returns the
        HTTP status. `key`: the API key of the agent server. `frames`: the content of the report.
        """
        url = f"http://127.0.0.1:{self.server.inner_port}/api/v1/webhooks/events/{conversation_id}"
        body = {"frames": frames}
        return httpx.post(url, json=body, headers={API_KEY_HEADER: key}, trust_env=False).status_code

    def line_of(self, conversation_id: str) -> str:
        lines = self.server.slipway("sandboxes", "ls").stdout.splitlines()
        return next(line for line in lines if line.startswith(conversation_id.replace("-", "")))

    def hosts_of(self, *conversation_ids: str) -> list[str]:
        return [self.line_of(each).split()[-1] for each in conversation_ids]

    def statuses(self, *conversation_ids: str) -> list[str]:
        return [str(conversation(self.client, each)["sandbox_status"]) for each in conversation_ids]

    def story(self) -> str:
        return "\n".join(part.output()[-6000:] for part in (self.server, self.big, self.small))


@contextmanager
def two_hosts(tmp_path: Path, scripted_llm: ScriptedLLM) -> Iterator[Site]:
    """Yields an app server with two sandbox hosts. Each sandbox is backed up as soon as it is idle."""
    with ExitStack() as stack:
        big = SandboxHostMachine(tmp_path / "big", "big", memory_total_bytes=3 * SANDBOX_BYTES)
        small = SandboxHostMachine(tmp_path / "small", "small", memory_total_bytes=2 * SANDBOX_BYTES)
        for host in (big, small):
            host.boot()
            stack.push(host)
        with ThreadPoolExecutor() as side_by_side:
            list(side_by_side.map(SandboxHostMachine.come_up, (big, small)))
        environment = {
            **environment_for([big, small], tmp_path),
            "SLIPWAY_SANDBOX_BACKUP_MINUTES": "0.01",
            REST_SECONDS: "1",
        }
        server = AppServerProcess(tmp_path / "home", sandbox="remote", environment=environment)
        stack.enter_context(server)
        client = stack.enter_context(server.client())
        scripted_llm.aside = say("A title")
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        yield Site(big, small, server, client, scripted_llm)
