"""Tests of archiving and forking a conversation with a user's image and a separate disk, in Docker."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app_server.sandbox_images.definition import image_definition
from tests.support.own_image import own_image
from tests.support.sandbox_image import FLAVOUR, sandbox_image
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    conversation,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


@pytest.fixture
def client(tmp_path: Path, scripted_llm: ScriptedLLM) -> Iterator[httpx.Client]:
    sandbox_image()
    scripted_llm.aside, scripted_llm.fallback = say("A title"), say("All is well.")
    with AppServerProcess(tmp_path / "home", sandbox="docker") as server, server.client() as client:
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        yield client


@pytest.fixture
def spec(client: httpx.Client) -> Iterator[dict[str, str]]:
    with own_image(client, runtime_plugins=["browser"]) as spec:
        yield spec


def test_files_and_image_outlast_an_archive_and_are_a_fork_s_from_the_start(
    client: httpx.Client, spec: dict[str, str]
) -> None:
    talk = start_conversation(client, "Look round", sandbox_spec_id=spec["id"])
    wait_for_status(client, talk, "finished")
    image = image_of(client, talk)
    assert image == image_definition(FLAVOUR, spec["base"]).image
    says(client, talk, "echo kept > file")
    assert ".device" in says(client, talk, "df --output=source /workspace"), "it has a disk of its own"
    snapshot = client.post(f"/sandboxes/{talk}/snapshots", json={}).raise_for_status().json()
    says(client, talk, "echo changed > file")
    client.post(f"/sandboxes/{talk}/archive").raise_for_status()
    assert conversation(client, talk)["sandbox_status"] == "ARCHIVED"

    # The request names only the snapshot, which has stored its image and the plugins of the image.
    fork = start_conversation(client, "Go on", snapshot_id=snapshot["id"])
    wait_for_status(client, fork, "finished")
    # Without the sandbox spec no new conversation can use the image. Existing sandboxes keep it.
    client.delete(f"/sandbox-specs/{spec['id']}").raise_for_status()
    client.post(f"/sandboxes/{talk}/resume").raise_for_status()
    wait_until(
        lambda: conversation(client, talk)["sandbox_status"] == "RUNNING",
        lambda: str(conversation(client, talk)),
    )

    assert (says(client, fork, "cat file"), image_of(client, fork)) == ("kept\n", image)
    assert (says(client, talk, "cat file"), image_of(client, talk)) == ("changed\n", image)
    for each in (fork, talk):
        assert not_offered(client, each) == {"vscode", "desktop", "jupyter"}
        client.delete(f"/app-conversations/{each}").raise_for_status()


def image_of(client: httpx.Client, conversation_id: str) -> str:
    [found] = client.get("/sandboxes", params={"id": conversation_id}).raise_for_status().json()
    return str(found["sandbox_spec_id"])


def not_offered(client: httpx.Client, conversation_id: str) -> set[str]:
    """Returns the names of the runtime plugins that the sandbox does not offer."""
    found = client.get(f"/sandboxes/{conversation_id}/runtime-plugins").raise_for_status().json()["items"]
    return {one["name"] for one in found if "does not offer" in (one["reason"] or "")}


def says(client: httpx.Client, conversation_id: str, command: str) -> str:
    url = f"/app-conversations/{conversation_id}/execute-bash-command"
    reply = client.post(url, json={"command": command, "timeout": 60}).raise_for_status().json()
    return str(reply["stdout"])
