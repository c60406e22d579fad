"""Conversations spread over two hosts, each a machine with an engine of its own; one of them is lost."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from tests.support.sandbox_host import SANDBOX_BYTES, SandboxHostMachine, environment_for
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    conversation,
    events,
    start_conversation,
    start_task,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.own_engine, pytest.mark.timeout(1200)]


@dataclass
class Site:
    """`big` bears three sandboxes, `small` two."""

    big: SandboxHostMachine
    small: SandboxHostMachine
    server: AppServerProcess
    client: httpx.Client
    llm: ScriptedLLM

    def start(self, task: str, command: str) -> str:
        """A conversation whose agent has run this command."""
        self.llm.script(call("terminal", command=command), say("Done."))
        found = start_conversation(self.client, task, llm_profile="scripted")
        wait_for_status(self.client, found, "finished")
        return found

    def go_on(self, conversation_id: str, command: str) -> str:
        """What this command says there."""
        before = len(events(self.client, conversation_id))
        self.llm.script(call("terminal", command=command), say("Done again."))
        message = {"role": "user", "content": [{"type": "text", "text": "Go on."}], "run": True}
        path = f"/app-conversations/{conversation_id}/send-message"
        self.client.post(path, json=message).raise_for_status()

        def is_over() -> bool:
            return "Done again." in json.dumps(events(self.client, conversation_id)[before:])

        wait_until(is_over, self.story)
        return json.dumps(events(self.client, conversation_id)[before:])

    def line_of(self, conversation_id: str) -> str:
        lines = self.server.slipway("sandboxes", "ls").stdout.splitlines()
        return next(line for line in lines if line.startswith(conversation_id.replace("-", "")))

    def hosts_of(self, *conversation_ids: str) -> list[str]:
        return [self.line_of(each).split()[-1] for each in conversation_ids]

    def statuses(self, *conversation_ids: str) -> list[str]:
        return [str(conversation(self.client, each)["sandbox_status"]) for each in conversation_ids]

    def wait_for_backups(self, count: int) -> None:
        wait_until(lambda: self.server.output().count("a backup was made") >= count, self.story)

    def story(self) -> str:
        return "\n".join(part.output()[-6000:] for part in (self.server, self.big, self.small))


@pytest.fixture
def site(tmp_path: Path, scripted_llm: ScriptedLLM) -> Iterator[Site]:
    with ExitStack() as stack:
        big = SandboxHostMachine(tmp_path / "big", "big", memory_total_bytes=3 * SANDBOX_BYTES)
        small = SandboxHostMachine(tmp_path / "small", "small", memory_total_bytes=2 * SANDBOX_BYTES)
        stack.enter_context(big)
        stack.enter_context(small)
        with ThreadPoolExecutor() as side_by_side:
            for loaded in [side_by_side.submit(host.load_image) for host in (big, small)]:
                loaded.result()
        environment = {**environment_for([big, small], tmp_path), "SLIPWAY_SANDBOX_BACKUP_MINUTES": "0.01"}
        server = AppServerProcess(tmp_path / "home", sandbox="remote", environment=environment)
        stack.enter_context(server)
        client = stack.enter_context(server.client())
        scripted_llm.aside = say("A title")
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        yield Site(big, small, server, client, scripted_llm)


def test_conversations_are_spread_by_free_memory_and_go_on_elsewhere_when_their_host_is_lost(
    site: Site,
) -> None:
    first = site.start("First", "echo mine > notes")
    second = site.start("Second", "echo theirs > notes")
    third = site.start("Third", "echo ours > notes")
    assert site.hosts_of(first, second, third) == ["big", "big", "small"]
    site.wait_for_backups(3)

    site.server.kill()
    site.server.start()
    wait_until(lambda: site.statuses(first, second, third) == ["RUNNING"] * 3, site.story)
    assert "ours" in site.go_on(third, "cat notes"), "adopted, with its files"

    site.big.lose()
    wait_until(lambda: site.statuses(first, second, third) == ["MISSING", "MISSING", "RUNNING"], site.story)
    assert "MISSING" in site.line_of(first)
    refused = site.server.slipway("doctor", fails=True).stdout
    assert "The sandbox host big has not answered" in refused
    assert "host small     Slipway" in refused

    site.client.post(f"/sandboxes/{first}/resume").raise_for_status()
    wait_until(lambda: site.statuses(first) == ["RUNNING"], site.story)
    assert site.hosts_of(first) == ["small"]
    assert "their backup of" in json.dumps(start_task(site.client, first))
    assert "mine" in site.go_on(first, "cat notes; echo newer > notes")
    site.big.boot_again()
    wait_until(lambda: site.statuses(second) == ["RUNNING"], site.story)
    assert "theirs" in site.go_on(second, "cat notes")
    assert "newer" in site.go_on(first, "cat notes"), "the one that went on elsewhere counts"
    with site.big.client() as host:
        found = host.get("/sandboxes").raise_for_status().json()
        states = {UUID(each["id"]): each["state"] for each in found}
        assert states[UUID(first)] == "stopped", "not two of one; what it had there is still there"
        assert host.get(f"/sandboxes/{first}/workspace").raise_for_status().content
