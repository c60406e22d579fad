"""The app server is killed at each step of a start, and a container is removed by another program.

Each kill happens during a new start, and each time at another point. The earlier starts go on meanwhile, so
that the kill also hits them at some point.
"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import docker
import httpx
import pytest

from app_server import demo
from app_server.conversations.models import STAGES, StartStatus
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.server import AppServerProcess, start_task, wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

ORDER = [*STAGES, StartStatus.READY, StartStatus.ERROR]

Wait = Callable[[], object]
Point = Callable[[AppServerProcess, UUID], AbstractContextManager[Wait]]
"""A point of a start. It is entered before the start; it yields a function that returns when the point is
reached.
"""


def at_stage(status: StartStatus) -> Point:
    """Returns the point at which the database says that the stage has begun."""

    @contextmanager
    def watch(server: AppServerProcess, conversation_id: UUID) -> Iterator[Wait]:
        query = "SELECT status FROM start_tasks WHERE id = ?"
        with closing(sqlite3.connect(server.home / "slipway.sqlite3", timeout=PATIENCE_SECONDS)) as rows:

            def reached() -> bool:
                found = rows.execute(query, (conversation_id.hex,)).fetchone()
                return found is not None and ORDER.index(StartStatus(found[0])) >= ORDER.index(status)

            # Stages last only for milliseconds, so the check must not sleep.
            yield lambda: busily(reached)

    return watch


def at_event(kind: str, action: str) -> Point:
    """Returns the point at which the Docker engine reports this event about the sandbox."""

    @contextmanager
    def watch(_server: AppServerProcess, conversation_id: UUID) -> Iterator[Wait]:
        filters = {kind: f"slipway-sandbox-{conversation_id.hex}", "event": action}
        with closing(docker.from_env(version="auto", timeout=int(PATIENCE_SECONDS))) as engine:
            events = engine.events(filters=filters)
            yield lambda: next(events)
            events.close()

    return watch


def at_file(name: str) -> Point:
    """Returns the point at which a file of this name is in the sandbox's directory."""

    @contextmanager
    def watch(server: AppServerProcess, conversation_id: UUID) -> Iterator[Wait]:
        yield lambda: busily((server.home / "sandboxes" / conversation_id.hex / name).exists)

    return watch


# The steps after the container or process has been made are the same for both kinds.
OF_MACHINES = (
    StartStatus.WAITING_FOR_SANDBOX,
    StartStatus.PREPARING_REPOSITORY,
    StartStatus.STARTING_CONVERSATION,
)
POINTS: dict[str, dict[str, Point]] = {
    "process": {
        **{status.value: at_stage(status) for status in (*STAGES, StartStatus.READY)},
        "directory made": at_file("workspace"),
        "process started, not known yet": at_file("agent-server.log"),
        "waiting for its health": at_file("process.json"),
    },
    "docker": {
        **{status.value: at_stage(status) for status in OF_MACHINES},
        "volume made": at_event("volume", "create"),
        "container made": at_event("container", "create"),
        "waiting for its health": at_event("container", "start"),
    },
}


def busily(is_true: Callable[[], bool]) -> None:
    for _ in range(10_000_000):
        if is_true():
            return
    raise AssertionError("it was never reached")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return demo.make_repository(tmp_path / "user")


@pytest.mark.parametrize("kind", ["process", "docker"])
def test_whatever_was_begun_when_the_server_was_killed_is_seen_through(
    kind: str, tmp_path: Path, repository: Path
) -> None:
    sandbox_image()
    with AppServerProcess(tmp_path / "home", sandbox=kind) as server, server.client() as client:
        begun = [killed_start(server, client, point, repository) for point in POINTS[kind].values()]
        for conversation_id in begun:
            wait_for_ready(client, conversation_id)
            assert says(client, conversation_id, "git status --short && ls README.md") == "README.md"
        assert machines_of(kind, server, begun) == {each.hex for each in begun}

        for conversation_id in begun:
            client.delete(f"/app-conversations/{conversation_id.hex}").raise_for_status()
        server.kill()
        server.start()
        wait_until(
            lambda: not machines_of(kind, server, begun),
            lambda: f"{machines_of(kind, server, begun)} to be removed",
        )
        wait_until(lambda: not agent_servers_of(server), lambda: f"the end of {agent_servers_of(server)}")


def killed_start(server: AppServerProcess, client: httpx.Client, point: Point, repository: Path) -> UUID:
    """Begins a start, kills the server at the point, and starts the server again. Returns the conversation's
    id.
    """
    conversation_id = uuid4()
    body = {"conversation_id": conversation_id.hex, "selected_repository": str(repository)}
    with point(server, conversation_id) as wait:
        client.post("/app-conversations", json=body).raise_for_status()
        wait()
        server.kill()
    server.start()
    return conversation_id


def wait_for_ready(client: httpx.Client, conversation_id: UUID) -> None:
    wait_until(
        lambda: is_ready(client, conversation_id), lambda: str(start_task(client, conversation_id.hex))
    )


def is_ready(client: httpx.Client, conversation_id: UUID) -> bool:
    task = start_task(client, conversation_id.hex)
    assert task["status"] != "ERROR", task["error"]
    return bool(task["status"] == "READY") and is_up(client, conversation_id)


def is_up(client: httpx.Client, conversation_id: UUID) -> bool:
    return says(client, conversation_id, "echo up") == "up"


def says(client: httpx.Client, conversation_id: UUID, command: str) -> str | None:
    """Runs a command in the sandbox and returns its output, or None if the sandbox does not answer."""
    body = {"command": command, "timeout": 60}
    reply = client.post(f"/app-conversations/{conversation_id.hex}/execute-bash-command", json=body)
    return str(reply.json()["stdout"]).strip() if reply.is_success else None


def machines_of(kind: str, server: AppServerProcess, ids: list[UUID]) -> set[str]:
    """Returns which of the sandboxes have a directory (kind `process`), or a container or volume (kind
    `docker`).
    """
    if kind == "process":
        there = {path.name for path in (server.home / "sandboxes").iterdir()}
    else:
        listings = (("ps", "--all", "--format", "{{.Names}}"), ("volume", "ls", "--format", "{{.Name}}"))
        said = " ".join(subprocess.check_output(["docker", *each], text=True) for each in listings)
        there = {name.removeprefix("slipway-sandbox-") for name in said.split()}
    return there & {each.hex for each in ids}


def agent_servers_of(server: AppServerProcess) -> list[int]:
    """Returns the ids of the processes that a sandbox of kind `process` of this app server runs."""
    mark = f"HOME={server.home / 'sandboxes'}/".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue  # ended meanwhile
    return found


def test_no_agent_server_is_left_that_a_restarted_server_does_not_know(tmp_path: Path) -> None:
    with AppServerProcess(tmp_path / "home", sandbox="process") as server, server.client() as client:
        conversation_id = uuid4()
        draft = server.home / "sandboxes" / conversation_id.hex / "process.json.new"
        draft.parent.mkdir(parents=True)
        os.mkfifo(draft)  # the server waits for a reader before it can store the id of the process
        body = {"conversation_id": conversation_id.hex, "llm_profile": "demo"}
        client.post("/app-conversations", json=body).raise_for_status()
        wait_until(lambda: agent_servers_of(server), server.output)
        server.kill()
        wait_until(lambda: not agent_servers_of(server), lambda: f"the end of {agent_servers_of(server)}")

        draft.unlink()
        server.start()
        wait_for_ready(client, conversation_id)


def test_no_process_is_left_if_the_server_is_killed_while_bubblewrap_starts(tmp_path: Path) -> None:
    held, programs = tmp_path / "held", tmp_path / "programs"
    held.touch()
    programs.mkdir()
    slow = programs / "bwrap"
    # Only the start of a sandbox is held, not the checks of the server's start.
    wait = f'case "$1" in --info-fd) while [ -e "{held}" ]; do sleep 0.05; done;; esac'
    slow.write_text(f'#!/bin/sh\n{wait}\nexec "{shutil.which("bwrap")}" "$@"\n')
    slow.chmod(0o755)
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    with (
        AppServerProcess(tmp_path / "home", sandbox="process", environment=path) as server,
        server.client() as client,
    ):
        conversation_id = uuid4()
        body = {"conversation_id": conversation_id.hex, "llm_profile": "demo"}
        client.post("/app-conversations", json=body).raise_for_status()
        wait_until(lambda: agent_servers_of(server), server.output)
        server.kill()
        held.unlink()
        wait_until(lambda: not agent_servers_of(server), lambda: f"the end of {agent_servers_of(server)}")

        server.start()
        wait_for_ready(client, conversation_id)


def test_a_container_that_was_removed_comes_back_with_its_files(tmp_path: Path) -> None:
    sandbox_image()
    with AppServerProcess(tmp_path / "home", sandbox="docker") as server, server.client() as client:
        conversation_id = uuid4()
        body = {"conversation_id": conversation_id.hex, "llm_profile": "demo"}
        client.post("/app-conversations", json=body).raise_for_status()
        wait_for_ready(client, conversation_id)
        assert says(client, conversation_id, "echo kept > file; echo done") == "done"

        container = f"slipway-sandbox-{conversation_id.hex}"
        subprocess.run(["docker", "rm", "--force", container], check=True, capture_output=True)
        wait_until(lambda: is_up(client, conversation_id), server.output)

        assert says(client, conversation_id, "cat file") == "kept"
