"""Tests of the list of skills that every conversation of the user has."""

from pathlib import Path

import httpx
import pytest

from app_server.core.config import Config
from app_server.skills.files import user_directory
from app_server.users.models import User

SKILLS = "/api/v1/skills/search"


@pytest.fixture
def config(config: Config, tmp_path: Path) -> Config:
    return config.model_copy(update={"skills_path": tmp_path / "shared"})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def test_all_are_listed_by_name_with_their_kind(
    client: httpx.AsyncClient, config: Config, owner: User
) -> None:
    assert config.skills_path is not None
    own = user_directory(config, owner.id)
    write(own / "always.md", "Be brief.")
    write(own / "broken.md", "---\n[\n---\nText")
    write(config.skills_path / "public" / "review" / "SKILL.md", "---\ndescription: Reviews\n---\nLook.")
    write(config.skills_path / "public" / "vague" / "SKILL.md", "Without a description")
    write(
        config.skills_path / "organisation" / "docker.md",
        "---\nname: containers\ntriggers: [docker, podman]\n---\nUse them.",
    )

    first = (await client.get(SKILLS, params={"limit": 2})).json()
    rest = (await client.get(SKILLS, params={"limit": 2, "page_id": first["next_page_id"]})).json()

    assert first["items"] + rest["items"] == [
        {"name": "always", "type": "repo", "source": "user/always.md", "triggers": None},
        {
            "name": "containers",
            "type": "knowledge",
            "source": "organisation/docker.md",
            "triggers": ["docker", "podman"],
        },
        {"name": "review", "type": "agentskills", "source": "public/review/SKILL.md", "triggers": None},
    ]
    assert rest["next_page_id"] is None
