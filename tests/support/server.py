"""A real app server process with its own home directory. A test starts and kills it as an operator would.

with AppServerProcess(tmp_path, sandbox="process") as server:
    client = server.client()                # signed in, `httpx.Client` on /api/v1
    conversation = start_conversation(client, task="…", selected_repository=path)
    server.kill()                           # kill -9
    server.start()                          # same home, same ports
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from websockets.sync.client import ClientConnection, connect

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.sign_in.invitations import new_owner_link
from tests.support.forking import ForkedAppServer, can_fork, run_slipway
from tests.support.migrated import copy_migrated_sqlite
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.plain_http import NO_TLS
from tests.support.ports import free_port
from tests.support.signed_in import sign_in

SIGN_IN_LINK = re.compile(r"http://\S+/sign-in#token=\S+")

Json = dict[str, Any]


class AppServerProcess:
    """An app server process. Its ports stay the same after a restart, so that sandboxes and browsers find it
    again.

    Normally the process is forked from a process that has loaded the modules (tests/support/forking.py).
    `python`: the beginning of a command line, which ends with a Python interpreter. If it is given, this
    command starts the app server as a user does, without a fork.
    """

    def __init__(
        self,
        home: Path,
        *,
        sandbox: str,
        environment: dict[str, str] | None = None,
        python: Sequence[str] = (),
    ) -> None:
        self.home = home
        self.port, self.inner_port = free_port(), free_port()
        self.url = f"http://localhost:{self.port}"
        self.log = home.with_name(f"{home.name}.log")
        self._environment = {
            **os.environ,
            "SLIPWAY_HOME": str(home),
            "SLIPWAY_PORT": str(self.port),
            "SLIPWAY_INNER_PORT": str(self.inner_port),
            "SLIPWAY_SANDBOX": sandbox,
            **(environment or {}),
        }
        self._is_forked = not python and can_fork(self._environment)
        self._slipway = [*(python or (sys.executable,)), "-m", "app_server"]
        self._process: subprocess.Popen[bytes] | ForkedAppServer | None = None
        self._api_key: str | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._delete_conversations()
        finally:
            self.stop()

    def serve_at(self, address: str) -> None:
        """Makes the server listen on this address instead of loopback. Must be called before `start`."""
        self.url = f"http://{address}:{self.port}"
        self._environment |= {"SLIPWAY_HOST": address, "SLIPWAY_PUBLIC_URL": self.url}

    def configure(self, environment: Mapping[str, str]) -> None:
        """Sets environment variables that the server has from its next start on."""
        self._environment |= environment

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        if self._is_forked:
            self._prepare_database()
        with self.log.open("ab") as log:
            if self._is_forked:
                self._process = ForkedAppServer(["serve"], self._environment, log)
            else:
                self._process = subprocess.Popen(
                    [*self._slipway, "serve"],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
        wait_until(self._is_healthy, lambda: f"the server to start:\n{self.output()}")

    def stop(self) -> None:
        """Stops the server with SIGINT, as Ctrl-C does."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=PATIENCE_SECONDS)

    def kill(self) -> None:
        """Kills the server with SIGKILL, as `kill -9` does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def sign_in_link(self) -> str:
        """Returns the newest sign-in link in the output of the server."""
        links = SIGN_IN_LINK.findall(self.output())
        assert links, self.output()
        return str(links[-1])

    def new_sign_in_link(self) -> str:
        """Returns a new sign-in link, as `slipway sign-in-link` prints it."""
        if self._slipway[0] != sys.executable:
            return self.slipway("sign-in-link").stdout.strip()
        # The command itself takes a second of processor time, most of it for loading modules.
        named = {
            name: self._environment.get(f"SLIPWAY_{name.upper()}") for name in ("database_url", "public_url")
        }
        given = {name: value for name, value in named.items() if value}
        config = Config(home=self.home, port=self.port, **given)
        with ThreadPoolExecutor(1) as thread:  # this thread may already run the event loop of a test
            return thread.submit(asyncio.run, _new_link(config)).result()

    def slipway(self, *arguments: str, fails: bool = False) -> "subprocess.CompletedProcess[str]":
        """Runs a `slipway` command in the environment of the server and returns its result.

        fails: whether the command must end with an error code.
        """
        if self._is_forked:
            done = run_slipway(arguments, self._environment)
        else:
            done = subprocess.run(
                [*self._slipway, *arguments],
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_SECONDS,
            )
        assert bool(done.returncode) == fails, done.stdout + done.stderr
        return done

    def api_key(self) -> str:
        """Returns an API key, created as a signed-in user creates it. Later calls return the same key."""
        if self._api_key is None:
            with httpx.Client(
                base_url=self.url, timeout=PATIENCE_SECONDS, headers={"Origin": self.url}, verify=NO_TLS
            ) as browser:
                sign_in(browser, self.new_sign_in_link().partition("#token=")[2])
                reply = browser.post("/api/v1/api-keys", json={"name": "tests"}).raise_for_status()
                self._api_key = reply.json()["key"]
        return str(self._api_key)

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.api_key()}"}
        return httpx.Client(
            base_url=f"{self.url}/api/v1", headers=headers, timeout=PATIENCE_SECONDS, verify=NO_TLS
        )

    def stream(self, conversation_id: str, after_seq: int = 0) -> ClientConnection:
        """Opens the live event stream of a conversation, as a browser does. `after_seq`: the last event
        already known.
        """
        url = f"ws://localhost:{self.port}/api/v1/conversation/{conversation_id}/events/stream"
        headers = {"Authorization": f"Bearer {self.api_key()}"}
        return connect(
            f"{url}?after_seq={after_seq}",
            additional_headers=headers,
            max_size=16 * 1024**2,
            open_timeout=PATIENCE_SECONDS,
        )

    def _prepare_database(self) -> None:
        """Gives a new home a database with tables, as an earlier start would: that saves a second of
        processor time.
        """
        file = self.home / "slipway.sqlite3"
        if "SLIPWAY_DATABASE_URL" in self._environment or file.exists():
            return
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_migrated_sqlite(file)

    def _is_healthy(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the server ended with {self._process.returncode}:\n{self.output()}")
        try:
            return httpx.get(f"{self.url}/health", timeout=PATIENCE_SECONDS, verify=NO_TLS).is_success
        except httpx.TransportError:
            return False

    def _delete_conversations(self) -> None:
        # Conversations that a test left running must end with the test.
        if self._process is None or self._process.poll() is not None:
            return
        with self.client() as client:
            for item in client.get("/app-conversations/search").raise_for_status().json()["items"]:
                client.delete(f"/app-conversations/{item['id']}").raise_for_status()
            wait_until(
                lambda: not _machines(client),
                lambda: f"sandboxes to go: {_machines(client)}",
            )


async def _new_link(config: Config) -> str:
    database = Database(config.resolved_database_url)
    try:
        async with database.session() as session:
            return await new_owner_link(session, config)
    finally:
        await database.close()


def _machines(client: httpx.Client) -> list[Json]:
    """Returns the sandboxes that are not removed yet, except those with the status ERROR.

    A sandbox with this status failed to start. It stays until its Docker engine is available again.
    """
    found: list[Json] = client.get("/sandboxes/search").raise_for_status().json()["items"]
    return [sandbox for sandbox in found if sandbox["status"] != "ERROR"]


def add_model(client: httpx.Client, base_url: str, api_key: str, name: str = "scripted") -> None:
    body = {"llm": {"model": "openai/scripted", "base_url": base_url, "api_key": api_key}}
    client.post(f"/settings/profiles/{name}", json=body).raise_for_status()


def start_conversation(client: httpx.Client, task: str, **request: Any) -> str:
    """Starts a conversation and returns its id. The start goes on in the background."""
    message = {"role": "user", "content": [{"type": "text", "text": task}], "run": True}
    reply = client.post("/app-conversations", json={"initial_message": message, **request})
    assert reply.is_success, reply.text
    return str(reply.json()["id"])


def start_task(client: httpx.Client, conversation_id: str) -> Json:
    task: Json = client.get("/app-conversations/start-tasks", params={"ids": conversation_id}).json()[0]
    return task


def conversation(client: httpx.Client, conversation_id: str) -> Json:
    found: Json = client.get("/app-conversations", params={"ids": conversation_id}).json()[0]
    return found


def events(client: httpx.Client, conversation_id: str) -> list[Json]:
    """Returns all events of the conversation that the app server stores, oldest first."""
    return list(_pages(client, f"/conversation/{conversation_id}/events/search"))


def wait_for_status(client: httpx.Client, conversation_id: str, status: str) -> Json:
    """Returns the conversation when its execution status is `status`."""

    def reached() -> bool:
        return bool(conversation(client, conversation_id)["execution_status"] == status)

    def story() -> str:
        task, found = start_task(client, conversation_id), conversation(client, conversation_id)
        return f"status {status}; start: {json.dumps(task, indent=1)}\n{json.dumps(found, indent=1)}"

    wait_until(reached, story)
    return conversation(client, conversation_id)


def wait_until(
    is_true: Callable[[], bool], what: Callable[[], str], seconds: float = PATIENCE_SECONDS
) -> None:
    """Returns when `is_true` returns True. Checks again after growing pauses, up to 0.15 s.

    Raises AssertionError after `seconds`. `what` returns the description of what was awaited.
    """
    deadline = time.monotonic() + seconds
    pauses = pauses_between_looks()
    while not is_true():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what()}")
        time.sleep(next(pauses))


def _pages(client: httpx.Client, path: str) -> Iterator[Json]:
    page_id: str | None = None
    while True:
        params = {"sort_order": "TIMESTAMP", **({"page_id": page_id} if page_id else {})}
        page = client.get(path, params=params).raise_for_status().json()
        yield from page["items"]
        page_id = page["next_page_id"]
        if page_id is None:
            return
