"""Helpers for tests that push skills to a repository at a git host and install them."""

from pathlib import Path
from typing import Any

import httpx

from tests.app_server.conversations.conftest import commit, git
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost

SKILLS = "/api/v1/skills"
INSTALLED = f"{SKILLS}/installed"


def skill(name: str, text: str = "Do it well.", **more: str) -> str:
    fields = "".join(f"{key}: {value}\n" for key, value in {"description": f"About {name}.", **more}.items())
    return f"---\nname: {name}\n{fields}---\n{text}"


def publish(host: GitHost, top: Path, files: dict[str, str]) -> str:
    """Commits the files and pushes them to the branch main of the repository team/skills. Returns the
    commit's hash.

    top: the directory where the commit is made.
    """
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    head = commit(top, "Skills")
    git(top, "push", "-q", "--force", str(host.bare("team/skills")), "HEAD:main")
    return head


async def get(client: httpx.AsyncClient, route: str, **params: str) -> Any:
    return (await client.get(f"{SKILLS}/{route}", params=params)).raise_for_status().json()


async def install(client: httpx.AsyncClient, name: str, **place: Any) -> dict[str, Any]:
    reply = await client.post(INSTALLED, json={"name": name, **place})
    assert reply.status_code == 201, reply.text
    installed: dict[str, Any] = reply.json()
    return installed


def detail(response: httpx.Response, code: str) -> str:
    assert_problem(response, 422, code)
    told: str = response.json()["detail"]
    return told


async def register(client: httpx.AsyncClient, host: GitHost) -> None:
    wanted = [{"name": "ours", "source": host.url("team/skills")}]
    changed = await client.post("/api/v1/settings", json={"registered_marketplaces": wanted})
    changed.raise_for_status()
