"""Tests of images that users have chosen, on a sandbox host with a separate Docker engine."""

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.sandbox_images.definition import image_definition
from tests.support.offline_base import offline_dockerfile
from tests.support.patience import BUILD_PATIENCE_SECONDS
from tests.support.sandbox_host import SANDBOX_BYTES, SandboxHostMachine, environment_for
from tests.support.sandbox_image import FLAVOUR, sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    conversation,
    events,
    start_conversation,
    start_task,
    wait_until,
)
from tests.support.tiny_image import tiny_image

pytestmark = [pytest.mark.own_engine, pytest.mark.timeout(1200)]

BY_NAME = "slipway-test-derived:by-name"


@dataclass
class Site:
    host: SandboxHostMachine
    server: AppServerProcess
    client: httpx.Client
    llm: ScriptedLLM

    def spec(self, **body: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.client.post("/sandbox-specs", json=body).raise_for_status().json()
        return found

    def start(self, spec: dict[str, Any]) -> str:
        return start_conversation(
            self.client, "Look.", llm_profile="scripted", sandbox_spec_id=spec["id"], title="Named"
        )

    def ended(self, conversation_id: str) -> dict[str, Any]:
        """Waits until the conversation's start is READY or ERROR, and returns the start task."""
        return self.followed(conversation_id)[0]

    def followed(self, conversation_id: str) -> tuple[dict[str, Any], str]:
        """Waits until the conversation's start is READY or ERROR. Returns the start task, and the text of
        all its states until then: of long output, each state has only the end.
        """
        task: dict[str, Any] = {}
        shown: list[str] = []

        def is_over() -> bool:
            task.update(start_task(self.client, conversation_id))
            shown.append(json.dumps(task))
            return task["status"] in {"READY", "ERROR"}

        wait_until(is_over, self.story, BUILD_PATIENCE_SECONDS)
        return task, "\n".join(shown)

    def wait_for_words(self, conversation_id: str, words: str) -> None:
        wait_until(lambda: words in json.dumps(events(self.client, conversation_id)), self.story)

    def image_of(self, conversation_id: str) -> str:
        found = self.client.get("/sandboxes", params={"id": conversation_id}).raise_for_status().json()
        return str(found[0]["sandbox_spec_id"])

    def image_in_engine(self, conversation_id: str) -> str:
        with closing(self.host.engine.client()) as engine:
            name = f"slipway-sandbox-{conversation_id.replace('-', '')}"
            return str(engine.containers.get(name).attrs["Config"]["Image"])

    def story(self) -> str:
        return "\n".join(part.output()[-8000:] for part in (self.server, self.host))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Starts a host, an app server and a scripted model for all tests of this module: a host takes half a
    minute to start, and Docker caches the layers of a build.
    """
    folder = tmp_path_factory.mktemp("site")
    with ExitStack() as stack:
        host = SandboxHostMachine(folder / "host", "one", memory_total_bytes=6 * SANDBOX_BYTES)
        stack.enter_context(host)
        server = AppServerProcess(
            folder / "home", sandbox="remote", environment=environment_for([host], folder)
        )
        stack.enter_context(server)
        client = stack.enter_context(server.client())
        llm = stack.enter_context(ScriptedLLM())
        llm.aside = say("A title")
        add_model(client, llm.base_url, llm.api_key)
        yield Site(host, server, client, llm)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    (folder / "Dockerfile").write_text(offline_dockerfile("COPY tool /tool"))
    (folder / "tool").write_text("a hammer of the repository")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    return folder


def test_a_repositorys_dockerfile_is_built_once_for_each_host(site: Site, repository: Path) -> None:
    asked = {"selected_repository": str(repository)}
    looked = site.client.post("/sandbox-specs/from-repository", json=asked).raise_for_status().json()
    spec = site.spec(name="Repository", repository=asked, base=looked["base"])
    image = image_definition(FLAVOUR, looked["base"]).image
    site.llm.script(say("Here."), say("Here."))  # one answer for each of the two conversations
    with ThreadPoolExecutor() as side_by_side:
        first, second = side_by_side.map(site.start, [spec, spec])
        starts = list(side_by_side.map(site.followed, [first, second]))

    tasks = [task for task, _ in starts]
    assert [task["status"] for task in tasks] == ["READY", "READY"], tasks
    assert all("Building the base image slipway-base:" in shown for _, shown in starts), tasks
    assert sum("Waiting for the image build that runs already" in shown for _, shown in starts) == 1, tasks
    for each in (first, second):
        site.wait_for_words(each, "Here.")
        assert site.image_of(each) == f"remote:{image}"
        assert site.image_in_engine(each) == image

    site.client.post(f"/sandboxes/{first}/pause").raise_for_status()
    site.server.slipway("sandboxes", "stop", first)
    site.server.kill()
    site.server.start()
    wait_until(lambda: conversation(site.client, second)["sandbox_status"] == "RUNNING", site.story)
    for each in (first, second):  # the first one sleeps, the restarted server has taken over the second one
        site.llm.script(call("terminal", command="cat /tool"), say("Done."))
        message = {"role": "user", "content": [{"type": "text", "text": "Go on."}], "run": True}
        path = f"/app-conversations/{each}/send-message"
        site.client.post(path, json=message).raise_for_status()
        site.wait_for_words(each, "a hammer of the repository")
        site.wait_for_words(each, "Done.")
        assert site.image_of(each) == f"remote:{image}"
    site.llm.script(say("At once."))
    third = site.start(spec)
    assert "Building" not in json.dumps(site.ended(third)), "it is there already"
    # Otherwise the conversation could take a reply that a later test has prepared.
    site.wait_for_words(third, "At once.")


def test_a_base_by_its_name_is_built_upon_and_one_that_is_nowhere_is_named(
    site: Site, repository: Path
) -> None:
    command = ["docker", "build", "--quiet", "--tag", BY_NAME, str(repository)]
    environment = {**os.environ, **site.host.engine.environment, "DOCKER_BUILDKIT": "0"}
    subprocess.run(command, env=environment, check=True)
    site.llm.script(call("terminal", command="cat /tool"), say("Done."))
    started = site.start(site.spec(name="Named", image=BY_NAME))
    assert site.ended(started)["status"] == "READY", site.story()
    site.wait_for_words(started, "a hammer of the repository")
    assert site.image_of(started) == f"remote:{image_definition(FLAVOUR, BY_NAME).image}"

    # An address where no registry listens. A name would take almost a minute, as the host has no DNS server.
    nowhere = site.ended(site.start(site.spec(name="Nowhere", image="127.0.0.1:9/none:1")))
    assert nowhere["status"] == "ERROR"
    assert "sandbox_base_missing" in json.dumps(nowhere)


def test_a_build_that_fails_on_the_host_fails_the_start_with_its_output(site: Site) -> None:
    with site.host.client() as host:
        before = host.get("/sandboxes").raise_for_status().json()
    dockerfile = f"FROM {sandbox_image()}\nUSER root\nRUN echo the hammer broke && exit 3\n"
    task = site.ended(site.start(site.spec(name="Broken", dockerfile=dockerfile)))

    assert task["status"] == "ERROR"
    assert task["error"]["code"] == "sandbox_base_build_failed"
    assert "the hammer broke" in task["error"]["output"]
    assert task["error"]["fix"]
    with site.host.client() as host:
        assert len(host.get("/sandboxes").raise_for_status().json()) == len(before)


def test_unused_images_of_hosts_are_removed_and_chosen_ones_stay(
    site: Site,
) -> None:
    old, chosen = "slipway-sandbox:slim-of-long-ago", "slipway-base:0123456789ab"
    with (
        closing(site.host.engine.client()) as engine,
        tiny_image(engine) as tiny,
        site.host.client() as client,
    ):
        for name in (old, chosen):
            assert engine.images.get(tiny).tag(*name.split(":"))
        removed = client.post("/images/prune", params={"base": chosen}).raise_for_status().json()
        left = {each["name"] for each in client.get("/images").raise_for_status().json()}

    assert old in {each["name"] for each in removed}
    assert not [each for each in removed if each["is_used"] or each["name"] == chosen]
    assert {chosen, sandbox_image()} <= left
    assert old not in left
