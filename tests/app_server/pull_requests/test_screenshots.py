"""Tests of the agent's screenshots in the description of a pull request: they are uploaded to the git host,
or linked.
"""

import base64
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app_server.core.errors import BadRequest
from app_server.events import blobs, log
from app_server.events.schemas import DurableFrame
from app_server.git_hosts.connection import HostAccess
from app_server.git_hosts.forgejo.client import forgejo
from app_server.git_hosts.github.client import github
from app_server.git_hosts.gitlab.client import gitlab
from app_server.git_hosts.rate_limits import RateLimits
from app_server.git_hosts.schemas import NewPullRequest
from app_server.pull_requests import service
from app_server.pull_requests.screenshots import ChosenScreenshots, address_of, chosen_of, screenshots_of
from tests.app_server.conftest import App
from tests.support.forgejo_host import ForgejoHost
from tests.support.git_host import git
from tests.support.github_host import GitHubHost
from tests.support.gitlab_host import GitLabHost
from tests.support.host_contract import FormFile
from tests.support.plain_http import NO_TLS

LINK = "https://slipway.example.org/conversations/c1"
TOKEN = "canary-token-91aa"
CLIENTS: dict[str, Any] = {"github": github, "gitlab": gitlab, "forgejo": forgejo}


def picture(content: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(content).decode()}"


def shot(event_id: str, title: str, image: str) -> dict[str, Any]:
    text = f"URL: http://localhost:3000/\nTitle: {title}\nThe page"
    content = [{"type": "text", "text": text}, {"type": "image", "image_urls": [image]}]
    observation = {"kind": "BrowserObservation", "content": content}
    return {"id": event_id, "kind": "ObservationEvent", "source": "environment", "observation": observation}


def edit() -> dict[str, Any]:
    action = {"kind": "FileEditorAction", "command": "create", "path": "page.html"}
    return {"id": "edit", "kind": "ActionEvent", "source": "agent", "action": action}


async def test_the_draft_lists_those_after_the_last_edit_where_a_browser_finds_them(app: App) -> None:
    large, small = picture(b"\xff\xd8" * 40_000), picture(b"small")
    events = [shot("old", "Before", small), edit(), shot("s1", "After [1]\n", large), shot("s2", "", small)]
    conversation_id = uuid4()
    frames = [
        DurableFrame(type="durable", seq=seq, event={**event, "timestamp": f"2026-01-01T00:00:0{seq}"})
        for seq, event in enumerate(events, 1)
    ]
    async with app.database.session() as session:
        await log.append(session, conversation_id, frames)
    async with app.database.read() as session:
        latest = await service.latest_events(session, conversation_id)
        found = screenshots_of(latest)
        places = [await address_of(session, conversation_id, one) for one in found]
        kept = await blobs.find(session, conversation_id, places[0].rsplit("/", 1)[1])
    assert [(one.event_id, one.title) for one in found] == [
        ("s1", "After 1"),
        ("s2", "http://localhost:3000/"),
    ]
    assert kept is not None
    assert kept.content == b"\xff\xd8" * 40_000
    assert places[1] == small
    with pytest.raises(BadRequest) as refused:
        chosen_of(latest, ["s1", "edit"])
    assert refused.value.code == "screenshot_not_found"


@pytest.mark.parametrize("kind", [GitHubHost, GitLabHost, ForgejoHost])
async def test_a_host_that_takes_images_shows_them_and_others_get_links(kind: Any, tmp_path: Path) -> None:
    chosen = chosen_of(
        [shot("s1", "Start page", picture(b"one")), shot("s2", "Map", picture(b"two"))], ["s2", "s1"]
    )
    shots = ChosenScreenshots(chosen, LINK)
    with kind(tmp_path / "host") as host:
        path = host.git.make("team/harbour")
        git(path, "update-ref", "refs/heads/depth", "main")
        host.git.tokens[TOKEN] = "write"
        async with httpx.AsyncClient(verify=NO_TLS) as http:
            access = HostAccess(host.git.origin, TOKEN, http, RateLimits(), None, host.api_url)
            client = CLIENTS[host.provider](access)
            new = NewPullRequest(
                title="Measure", body=shots.in_new(client, "Done."), head="depth", base="main", is_draft=True
            )
            opened = await client.create_pull_request("team/harbour", new)
            assert await shots.in_opened(client, "team/harbour", opened, "Done.") == []
            again = await client.create_pull_request("team/harbour", new)
            assert "was open already" in (await shots.in_opened(client, "team/harbour", again, "Done."))[0]
        body = host.pulls[0].body
        text = body.get("description") or body["body"]
        if host.provider == "github":
            assert (
                text == f"Done.\n\n## Screenshots\n\n[Map]({LINK}?event=s2)\n\n[Start page]({LINK}?event=s1)"
            )
            assert host.uploads == []
        else:
            first, second = (
                ("/uploads/66dbcd211/screenshot-1.jpg", "/uploads/66dbcd212/screenshot-2.jpg")
                if host.provider == "gitlab"
                else (f"{host.git.origin}/attachments/1", f"{host.git.origin}/attachments/2")
            )
            assert text == f"Done.\n\n## Screenshots\n\n![Map]({first})\n\n![Start page]({second})"
            assert host.uploads == [
                FormFile("screenshot-1.jpg", "image/jpeg", b"two"),
                FormFile("screenshot-2.jpg", "image/jpeg", b"one"),
            ]
        assert host.violations == []


async def test_a_host_that_refuses_an_image_gets_a_link(tmp_path: Path) -> None:
    shots = ChosenScreenshots(chosen_of([shot("s1", "Map", picture(b"one"))], ["s1"]), LINK)
    with ForgejoHost(tmp_path / "host") as host:
        path = host.git.make("team/harbour")
        git(path, "update-ref", "refs/heads/depth", "main")
        host.git.tokens[TOKEN] = "write"
        async with httpx.AsyncClient(verify=NO_TLS) as http:
            client = forgejo(HostAccess(host.git.origin, TOKEN, http, RateLimits(), None, host.api_url))
            new = NewPullRequest(title="Measure", body="Done.", head="depth", base="main", is_draft=True)
            opened = await client.create_pull_request("team/harbour", new)
            host.takes_images = False
            (said,) = await shots.in_opened(client, "team/harbour", opened, "Done.")
        assert said.startswith("A screenshot became a link to the conversation:")
        assert host.pulls[0].body["body"] == f"Done.\n\n## Screenshots\n\n[Map]({LINK}?event=s1)"
