"""Tests of skills on the server: a user's agents get them, and the user sees which skills were loaded and
why.
"""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from app_server.core.config import Config, load_config
from app_server.core.errors import ConfigurationError
from app_server.users.models import Role
from tests.app_server.conversations.conftest import (
    ROOT,
    Home,
    client_of,
    commit,
    home,
    repository,
)
from tests.app_server.problems import assert_problem
from tests.support.ports import free_port

__all__ = ["home", "repository"]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    write(
        tmp_path / "shared",
        {
            "organisation/deploy.md": "Ours.",
            "public/deploy.md": "Everybody's.",
            "public/review/SKILL.md": "---\ndescription: How to review.\n---\nRead it twice.",
            "public/README.md": "About these.",
            "public/broken.md": "---\ntriggers: [\n---\nx",
            "public/big.md": "x" * (64 * 1024 + 1),
            "elsewhere.md": "Not one of them.",
        },
    )
    (tmp_path / "shared/public/link.md").symlink_to(tmp_path / "shared/elsewhere.md")
    return Config(
        home=tmp_path / "home",
        database_url=SecretStr(database_url),
        sandbox="process",
        process_isolation="none",
        port=free_port(),
        inner_port=free_port(),
        skills_path=tmp_path / "shared",
    )


async def report_of(home: Home, conversation_id: str) -> dict[str, tuple[bool, str]]:
    """Returns for each skill of the conversation whether it was loaded, and the reason. The keys are paths
    without the sandbox's directory.
    """
    reply = await home.client.get(f"{ROOT}/{conversation_id}/skills")
    assert reply.is_success, reply.text
    body: dict[str, Any] = reply.json()
    return {one["path"]: (one["is_loaded"], one["reason"]) for one in body["report"]}


async def test_skills_of_all_origins_are_given_and_explained(home: Home, repository: Path) -> None:
    me = (await home.client.get("/api/v1/users/me")).json()["id"]
    write(
        home.config.home / "skills" / me,
        {"style.md": "Mine.", "review/SKILL.md": "---\ndescription: M\n---\nMy way."},
    )
    write(repository, {".agents/skills/style.md": "The project's."})
    commit(repository, "Style")

    task = await home.ready(selected_repository=str(repository))

    report = await report_of(home, task["id"])
    assert report["organisation/deploy.md"][0]
    assert report["public/deploy.md"] == (False, "organisation/deploy.md has the same name and comes first")
    assert report["user/review/SKILL.md"][0]
    assert report["public/review/SKILL.md"][0] is False
    assert report["user/style.md"][0] is False
    assert report["public/README.md"] == (False, "a README is for people")
    assert report["public/broken.md"] == (False, "its front matter is not valid YAML")
    assert report["public/big.md"] == (False, "it is larger than 64 KiB")
    assert report["public/link.md"] == (False, "it is a link that leads somewhere else")
    body = (await home.client.get(f"{ROOT}/{task['id']}/skills")).json()
    assert {skill["name"]: skill["content"] for skill in body["skills"]} == {
        "style": "The project's.",
        "review": "My way.",
        "deploy": "Ours.",
    }
    assert body["sources"] == {"project": 1, "user": 1, "organisation": 1}
    conversation_id = UUID(task["id"])
    info = await home.state["sandboxes"].client(conversation_id).get_conversation(conversation_id)
    assert "Everybody" not in info.model_dump_json()


async def test_users_do_not_get_the_skills_of_other_users(home: Home, repository: Path) -> None:
    write(home.config.home / "skills/00000000000000000000000000000000", {"secret.md": "Another's."})

    task = await home.ready(selected_repository=str(repository))

    assert "user/secret.md" not in await report_of(home, task["id"])
    async with client_of(home.config, await home.key_of(Role.ADMIN)) as other:
        assert_problem(await other.get(f"{ROOT}/{task['id']}/skills"), 404, "not_found")


def test_a_directory_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"SLIPWAY_SKILLS_PATH: .*no such directory"):
        load_config(skills_path=tmp_path / "nowhere")
