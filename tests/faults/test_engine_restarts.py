"""The Docker engine is stopped or killed and starts again: running work goes on, and its files are kept.
The rules of the packet filter are removed: the app server sets them again.

The test runs its own engine. Its containers end with the engine, as they do by default.
"""

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from app_server.sandbox_backends.docker.network import NETWORK
from tests.faults.conftest import assert_whole
from tests.support.own_engine import OwnEngine
from tests.support.packet_filter import remove_rules
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    conversation,
    events,
    start_conversation,
    start_task,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.own_engine, pytest.mark.docker, pytest.mark.timeout(1200)]


def stopped(engine: OwnEngine) -> None:
    engine.restart()


def killed(engine: OwnEngine) -> None:
    engine.kill()
    engine.start()


WAYS = pytest.mark.parametrize("comes_back", [stopped, killed], ids=["stopped", "killed"])
Way = Callable[[OwnEngine], None]


class Site:
    """An app server on the network of an engine that only this server uses."""

    def __init__(self, engine: OwnEngine, server: AppServerProcess, llm: ScriptedLLM) -> None:
        self.engine = engine
        self.server = server
        self.llm = llm
        self.client: httpx.Client = server.client()

    def says(self, conversation_id: str, command: str) -> str | None:
        """Runs a command in the sandbox and returns its output, or None if the sandbox does not answer."""
        url = f"/app-conversations/{conversation_id}/execute-bash-command"
        reply = self.client.post(url, json={"command": command, "timeout": 60})
        return str(reply.json()["stdout"]).strip() if reply.is_success else None

    def wait_until_up(self, conversation_id: str) -> None:
        wait_until(lambda: self.says(conversation_id, "echo up") == "up", self.story(conversation_id))

    def wait_until_ready(self, conversation_id: str) -> None:
        def is_ready() -> bool:
            return bool(start_task(self.client, conversation_id)["status"] == "READY")

        wait_until(is_ready, self.story(conversation_id))

    def story(self, conversation_id: str) -> Callable[[], str]:
        return lambda: f"{start_task(self.client, conversation_id)}\n{self.server.output()[-4000:]}"

    def send(self, conversation_id: str, text: str) -> None:
        message: Json = {"role": "user", "content": [{"type": "text", "text": text}], "run": True}
        url = f"/app-conversations/{conversation_id}/send-message"
        self.client.post(url, json=message).raise_for_status()

    def of_sandboxes(self) -> set[str]:
        """Returns the sandbox ids in the names of all containers and volumes of the engine."""
        # Only lists are used: the engine cannot answer about a single object that is being removed.
        with closing(self.engine.client()) as client:
            containers, volumes = client.api.containers(all=True), client.api.volumes()["Volumes"] or []
        names = [each["Names"][0].strip("/") for each in containers] + [each["Name"] for each in volumes]
        return {name.removeprefix("slipway-sandbox-") for name in names}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home: Path = tmp_path_factory.mktemp("site") / "home"
    with OwnEngine(image=sandbox_image()) as engine, ScriptedLLM(host=engine.address_of_ours) as llm:
        server = AppServerProcess(
            home,
            sandbox="docker",
            # Memory for all sandboxes of this module, so that none has to wait until another one is idle.
            environment={**engine.environment, "SLIPWAY_SANDBOX_MEMORY_BYTES": str(512 * 1024**2)},
            python=[*engine.on_its_network, sys.executable],
        )
        server.serve_at(engine.address)
        with server:
            llm.aside = say("A title")
            with server.client() as client:
                add_model(client, llm.base_url, llm.api_key)
                client.post("/settings/profiles/scripted/activate").raise_for_status()
            site = Site(engine, server, llm)
            yield site
            site.client.close()


@pytest.fixture
def talk(site: Site) -> str:
    """Returns the id of a conversation that has finished a run and has written a file."""
    site.llm.script(call("terminal", command="echo kept > file"), say("Noted."))
    conversation_id = start_conversation(site.client, "Take a note")
    wait_for_status(site.client, conversation_id, "finished")
    return conversation_id


@WAYS
def test_a_sandbox_comes_back_with_its_files(site: Site, talk: str, comes_back: Way) -> None:
    comes_back(site.engine)
    site.wait_until_up(talk)

    assert site.says(talk, "cat file") == "kept"
    assert conversation(site.client, talk)["sandbox_status"] == "RUNNING"


@WAYS
def test_a_run_goes_on_and_is_told_what_was_cut_off(site: Site, talk: str, comes_back: Way) -> None:
    site.llm.script(call("terminal", command="touch begun; sleep 1000"), say("I go on."))
    site.send(talk, "Work")
    wait_until(lambda: site.says(talk, "ls begun") == "begun", site.story(talk))

    comes_back(site.engine)

    wait_until(lambda: "I go on." in str(events(site.client, talk)), site.story(talk))
    assert site.says(talk, "cat file") == "kept"
    log = events(site.client, talk)
    assert_whole(log)


@WAYS
def test_one_that_sleeps_wakes_with_the_next_message(site: Site, talk: str, comes_back: Way) -> None:
    site.client.post(f"/sandboxes/{talk}/pause").raise_for_status()
    comes_back(site.engine)
    assert conversation(site.client, talk)["sandbox_status"] == "PAUSED"

    site.llm.script(call("terminal", command="cat file"), say("It says: kept."))
    site.send(talk, "Read it to me")

    wait_until(lambda: "It says: kept." in str(events(site.client, talk)), site.story(talk))
    seen = [event for event in events(site.client, talk) if event["kind"] == "ObservationEvent"]
    assert "kept" in str(seen[-1]["observation"])


@pytest.mark.parametrize(("step", "comes_back"), [("create", killed), ("start", stopped)])
def test_a_start_is_seen_through_or_can_be_tried_again(site: Site, step: str, comes_back: Way) -> None:
    with closing(site.engine.client()) as client:
        done = client.events(filters={"type": "container", "event": step}, decode=True)
        conversation_id = start_conversation(site.client, "Begin", llm_profile="demo")
        next(done)
        done.close()
    comes_back(site.engine)

    def has_ended() -> bool:
        return start_task(site.client, conversation_id)["status"] in {"READY", "ERROR"}

    wait_until(has_ended, site.story(conversation_id))
    if error := start_task(site.client, conversation_id)["error"]:
        assert error["code"] in {"docker_unavailable", "sandbox_start_failed", "agent_server_ended"}, error
        assert error["fix"]
        site.client.post(f"/app-conversations/start-tasks/{conversation_id}/retry").raise_for_status()
        site.wait_until_ready(conversation_id)
    site.wait_until_up(conversation_id)


def test_removed_rules_of_the_packet_filter_are_set_again(site: Site, talk: str) -> None:
    remove_rules(site.engine, site.server.output, site.story(talk))

    with closing(site.engine.client()) as client:
        gateway = client.networks.get(NETWORK).attrs["IPAM"]["Config"][0]["Gateway"]
    open_port, closed_port = site.server.inner_port, free_port()
    listening = [sys.executable, "-m", "http.server", str(closed_port), "--bind", "0.0.0.0"]
    command = [*site.engine.on_its_network, *listening]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        look = [*site.engine.on_its_network, *_opening(gateway, closed_port)]
        wait_until(lambda: subprocess.run(look, check=False).returncode == 0, lambda: "the service to listen")
        assert _is_open(site, talk, gateway, open_port)
        assert not _is_open(site, talk, gateway, closed_port)
    finally:
        service.kill()
        service.wait()


def _opening(address: str, port: int) -> list[str]:
    """Returns a command that succeeds if a connection to this address can be opened."""
    return ["python3", "-c", f"import socket; socket.create_connection(({address!r}, {port}), timeout=3)"]


def _is_open(site: Site, conversation_id: str, address: str, port: int) -> bool:
    said = site.says(conversation_id, f"{shlex.join(_opening(address, port))} && echo open || echo closed")
    assert said in {"open", "closed"}
    return said == "open"


def test_nothing_is_left_of_deleted_conversations(site: Site, talk: str) -> None:
    """The conversations of the other tests of this module are deleted while the engine is stopped."""
    site.engine.stop()
    for item in site.client.get("/app-conversations/search").raise_for_status().json()["items"]:
        site.client.delete(f"/app-conversations/{item['id']}").raise_for_status()
    site.engine.start()

    wait_until(lambda: not site.of_sandboxes(), lambda: f"{site.of_sandboxes()} to go")
