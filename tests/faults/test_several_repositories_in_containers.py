"""A conversation with several repositories in a container: an archive keeps them, and a fork gets them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.git_host import GitHost, git
from tests.support.sandbox_image import sandbox_image
from tests.support.server import AppServerProcess, conversation, start_task, wait_until

pytestmark = pytest.mark.docker

TOKEN = "canary-token-several"
CHECKOUTS = {"harbour": "team/harbour", "lamp": "crew/lamp", "harbour-2": "other/harbour"}
MESSAGE = {"role": "user", "content": [{"type": "text", "text": "Light it."}], "run": False}
WORK = (
    "echo first > notes && cd ../lamp && git switch -qc light && echo on > lamp.txt && git add -A && "
    "git commit -qm Light && cd ../harbour-2 && echo 5 > depth.txt"
)
SEEN = (
    "for each in harbour lamp harbour-2; do cd ../$each && echo $each $(git branch --show-current) "
    "$(git log -1 --format=%s) $(git status --porcelain | wc -l); done"
)


def test_their_directories_survive_an_archive_and_a_fork_and_can_be_pushed(tmp_path: Path) -> None:
    sandbox_image()
    with (
        GitHost(tmp_path / "host") as host,
        AppServerProcess(tmp_path / "home", sandbox="docker") as server,
        server.client() as client,
    ):
        for name in CHECKOUTS.values():
            host.make(name)
        host.tokens[TOKEN] = "write"
        credential = {"host": host.origin, "token": TOKEN}
        client.post("/settings/git-credentials", json=credential).raise_for_status()
        first, *others = (host.url(name) for name in CHECKOUTS.values())
        more = [{"repository": url} for url in others]
        started = ready(client, selected_repository=first, more_repositories=more, initial_message=MESSAGE)
        directories = [one["directory"] for one in conversation(client, started)["more_repositories"]]
        assert ["harbour", *directories] == list(CHECKOUTS)
        says(client, started, WORK)
        worked = says(client, started, SEEN)
        assert worked.splitlines()[1] == "lamp light Light 0"
        assert [line.split()[-1] for line in worked.splitlines()] == ["1", "0", "1"]

        client.post(f"/sandboxes/{started}/archive").raise_for_status()
        client.post(f"/sandboxes/{started}/resume").raise_for_status()
        until_ready(client, started)
        assert says(client, started, SEEN) == worked

        fork = client.post(f"/app-conversations/{started}/fork", json={}).raise_for_status().json()["id"]
        until_ready(client, fork)
        assert conversation(client, fork)["forked_from_conversation_id"] == started
        said = client.get(f"/conversation/{fork}/events/search", params={"kind__eq": "MessageEvent"})
        texts = [one["llm_message"]["content"][0]["text"] for one in said.json()["items"]]
        assert texts[0] == "Light it."
        assert texts[1].startswith("This conversation is a copy of another one.")
        assert says(client, fork, SEEN) == worked
        kept = conversation(client, fork)["more_repositories"]
        assert [one["directory"] for one in kept] == directories
        assert [one["repository"] for one in kept] == others
        for each, branch in ((started, "light"), (fork, "of-fork")):
            says(client, each, f"cd ../lamp && git push -q origin HEAD:{branch}")
            assert "Light" in git(host.bare("crew/lamp"), "log", "-1", "--format=%s", branch)
        assert TOKEN not in says(client, fork, "cd .. && cat */.git/config; env")


def ready(client: httpx.Client, **request: Any) -> str:
    started = client.post("/app-conversations", json={"llm_profile": "demo", **request})
    conversation_id = str(started.raise_for_status().json()["id"])
    until_ready(client, conversation_id)
    return conversation_id


def until_ready(client: httpx.Client, conversation_id: str) -> None:
    wait_until(
        lambda: start_task(client, conversation_id)["status"] in {"READY", "ERROR"},
        lambda: str(start_task(client, conversation_id)),
    )
    task = start_task(client, conversation_id)
    assert task["status"] == "READY", task["error"]


def says(client: httpx.Client, conversation_id: str, command: str) -> str:
    body = {"command": command, "timeout": 60}
    url = f"/app-conversations/{conversation_id}/execute-bash-command"
    output = client.post(url, json=body, timeout=80).raise_for_status().json()
    assert output["exit_code"] == 0, output
    return str(output["stdout"] or "").strip()
