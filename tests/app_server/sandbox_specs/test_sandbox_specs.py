"""Tests of sandbox specs: users create, list and choose them, and a start uses the chosen one."""

import gzip
import io
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from pydantic import SecretStr

from app_server.conversations.models import StartTask
from app_server.conversations.sharing.own_secrets import own_secrets
from app_server.core.config import Config
from app_server.sandbox_images.build_context import read_packed
from app_server.sandbox_records.models import Sandbox
from app_server.sandbox_records.rows import Rows
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem
from tests.app_server.teams.test_teams import new_team
from tests.support.ports import free_port

pytestmark = pytest.mark.docker

SPECS = "/api/v1/sandbox-specs"
CHOICE = "/api/v1/settings/sandbox-spec"
ITEMS = "/api/v1/administration/items"
DEVCONTAINER = """{
  // a comment
  "build": {"dockerfile": "Dockerfile", "context": ".."},
  "postCreateCommand": "make",
}"""


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(
        home=tmp_path / "home",
        database_url=SecretStr(database_url),
        sandbox="docker",
        inner_port=free_port(),
    )


@pytest.fixture
async def client(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the owner. The start worker is stopped, so no sandbox is started."""
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as signed_in:
        yield signed_in


@pytest.fixture
async def member(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    headers = {"Authorization": f"Bearer {key}", "X-Test-User": user.id.hex}
    async with http_client(app.public, headers=headers) as client:
        profile = {"llm": {"model": "openai/gpt-x", "base_url": "http://127.0.0.1:9", "api_key": "key"}}
        (await client.post("/api/v1/settings/profiles/own", json=profile)).raise_for_status()
        yield client


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".devcontainer").mkdir(parents=True)
    (folder / ".devcontainer" / "devcontainer.json").write_text(DEVCONTAINER)
    (folder / ".devcontainer" / "Dockerfile").write_text("FROM debian:bookworm-slim\nCOPY tool /\n")
    (folder / "tool").write_text("hammer")
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")


async def create(client: httpx.AsyncClient, **body: object) -> str:
    reply = await client.post(SPECS, json=body)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


async def started_from(app: App, client: httpx.AsyncClient, **body: object) -> str:
    """Creates a conversation with this request body. Returns the id of the sandbox spec for its start."""
    reply = await client.post("/api/v1/app-conversations", json={"llm_profile": "demo", **body})
    assert reply.status_code == 200, reply.text
    async with app.database.read() as session:
        task = await session.get_one(StartTask, UUID(reply.json()["id"]))
    return str(task.request["sandbox_spec_id"])


async def test_specs_are_listed_beside_the_servers_own_and_deleted(client: httpx.AsyncClient) -> None:
    python = await create(client, name="Python", image="python:3.12-bookworm")
    tools = await create(client, name="Tools", dockerfile="FROM debian:bookworm-slim\nRUN true\n")
    listed = (await client.get(f"{SPECS}/search")).json()["items"]
    found = (await client.get(SPECS, params={"id": [tools, uuid4().hex]})).json()

    assert [spec["id"] for spec in listed] == ["default", python, tools]
    assert listed[1]["base"] == "python:3.12-bookworm"
    assert listed[2]["base"].startswith("slipway-base:")
    assert (found[0]["dockerfile"], found[1]) == ("FROM debian:bookworm-slim\nRUN true", None)
    taken = await client.post(SPECS, json={"name": "Tools", "image": "debian:12"})
    assert_problem(taken, 409, "sandbox_spec_name_taken")
    ours = await client.post(SPECS, json={"name": "Theirs", "image": "slipway-base:0123456789ab"})
    assert_problem(ours, 400, "image_not_allowed")
    both = await client.post(SPECS, json={"name": "x", "image": "debian:12", "dockerfile": "FROM x"})
    assert_problem(both, 422, "validation_failed")
    assert (await client.delete(f"{SPECS}/{python}")).status_code == 204
    assert_problem(await client.delete(f"{SPECS}/{python}"), 404, "sandbox_spec_not_found")


async def test_what_a_repository_has_is_looked_at_before_it_is_taken(
    client: httpx.AsyncClient, repository: Path
) -> None:
    asked = {"selected_repository": str(repository)}
    looked = (await client.post(f"{SPECS}/from-repository", json=asked)).json()
    again = (await client.post(f"{SPECS}/from-repository", json=asked)).json()

    assert looked == again
    assert looked["path"] == ".devcontainer/devcontainer.json"
    assert looked["dockerfile"] == "FROM debian:bookworm-slim\nCOPY tool /\n"
    assert looked["files"] == 2
    assert [each.split()[0] for each in looked["ignored"]] == ["postCreateCommand"]
    await create(client, name="Repo", repository=asked, base=looked["base"])
    spec = (await client.get(f"{SPECS}/search")).json()["items"][1]
    assert spec["ignored"] == looked["ignored"]
    assert spec["origin"].endswith(": .devcontainer/devcontainer.json")

    (repository / "tool").write_text("axe")
    commit(repository)
    late = await client.post(SPECS, json={"name": "Other", "repository": asked, "base": looked["base"]})
    assert_problem(late, 409, "repository_base_changed")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nowhere/Dockerfile", "devcontainer_missing"),
        ("../repository/tool", "devcontainer_leads_out"),
        ("out", "devcontainer_leads_out"),
        ("broken.json", "devcontainer_unreadable"),
    ],
)
async def test_what_of_a_repository_cannot_be_used_is_named_without_our_paths(
    client: httpx.AsyncClient, repository: Path, path: str, code: str
) -> None:
    (repository / "out").symlink_to("/etc/passwd")
    (repository / "broken.json").write_text("{")
    commit(repository)
    body = {"selected_repository": str(repository), "path": path}
    reply = await client.post(f"{SPECS}/from-repository", json=body)

    assert_problem(reply, 400, code)
    assert "slipway-base-" not in reply.text


async def test_a_start_takes_what_was_said_for_it_for_its_repository_or_for_all(
    app: App, client: httpx.AsyncClient, repository: Path
) -> None:
    of_all = await create(client, name="All", image="debian:12")
    of_one = await create(client, name="One", image="debian:13")
    asked = {"selected_repository": str(repository)}
    assert await started_from(app, client) == "default"
    await client.put(CHOICE, json={"sandbox_spec_id": of_all})
    await client.put(CHOICE, json={"sandbox_spec_id": of_one, "repository": str(repository)})
    settings = (await client.get(CHOICE)).json()

    assert settings["sandbox_spec_id"] == of_all
    assert [each["sandbox_spec_id"] for each in settings["repositories"]] == [of_one]
    assert await started_from(app, client) == of_all
    assert await started_from(app, client, **asked) == of_one
    assert await started_from(app, client, **asked, sandbox_spec_id="default") == "default"
    assert await started_from(app, client, sandbox_spec_id=of_one) == of_one
    wrong = await client.post("/api/v1/app-conversations", json={"sandbox_spec_id": "none-of-ours"})
    assert_problem(wrong, 404, "sandbox_spec_not_found")

    identity = settings["repositories"][0]["repository"]
    await client.put(CHOICE, json={"sandbox_spec_id": None, "repository": identity})
    assert await started_from(app, client, **asked) == of_all
    await client.delete(f"{SPECS}/{of_all}")
    assert await started_from(app, client) == "default"


async def test_members_have_the_servers_own_until_an_admin_lets_them_choose(
    app: App, client: httpx.AsyncClient, member: httpx.AsyncClient
) -> None:
    spec = await create(client, name="Mine", image="debian:12")
    for reply in (
        await member.post(SPECS, json={"name": "x", "image": "debian:12"}),
        await member.post(f"{SPECS}/from-repository", json={"selected_repository": "o/r"}),
        await member.put(CHOICE, json={"sandbox_spec_id": spec}),
    ):
        assert_problem(reply, 403, "sandbox_specs_not_allowed")
    settings = (await member.get(CHOICE)).json()
    assert (settings["may_choose"], "SLIPWAY_SANDBOX_SPECS" in settings["reason"]) == (False, True)

    app.state["config"] = app.config.model_copy(update={"sandbox_specs": "everybody"})
    assert_problem(await member.put(CHOICE, json={"sandbox_spec_id": spec}), 404, "sandbox_spec_not_found")
    own = await create(member, name="Mine", image="debian:12")
    await member.put(CHOICE, json={"sandbox_spec_id": own})
    app.state["config"] = app.config
    refused = await client.get(CHOICE)
    assert refused.json()["may_choose"] is True
    assert (await member.get(CHOICE)).json()["sandbox_spec_id"] == own


async def test_a_spec_of_a_team_overrides_the_organisations_and_an_enforced_default_is_used_by_all(
    app: App, client: httpx.AsyncClient, member: httpx.AsyncClient
) -> None:
    team = await new_team(client, "Core", member)
    of_all = await give(client, "Python", image="debian:12", is_default=True)
    assert (of_all["sandbox_spec"]["base"], of_all["overriding_teams"]) == ("debian:12", [])
    assert await started_from(app, member, llm_profile="own") == (await listed_specs(member))[1]["id"]
    await give(client, "Tools", dockerfile="FROM debian:bookworm-slim\nRUN true\n", is_default=True)
    listed = (await client.get(ITEMS)).json()
    assert [(one["name"], one["sandbox_spec"]["is_default"]) for one in listed] == [
        ("Python", False),
        ("Tools", True),
    ]
    await give(client, f"Python?team_id={team}", image="debian:13")
    _, python, tools = await listed_specs(member)
    assert [(one["name"], one["level"], one["base"]) for one in (python, tools)] == [
        ("Python", "team", "debian:13"),
        ("Tools", "organisation", tools["base"]),
    ]
    assert await started_from(app, member, llm_profile="own") == tools["id"]
    await require_buildable(app, member, tools["base"])
    async with app.database.read() as session:
        secrets = await own_secrets(session, app.state["cipher"], UUID(member.headers["X-Test-User"]))
    assert list(secrets.values()) == ["key"], "an image is none"
    await member.put(CHOICE, json={"sandbox_spec_id": python["id"]})
    assert await started_from(app, member, llm_profile="own") == python["id"], (
        "members may choose what administrators give"
    )
    await member.put(CHOICE, json={"sandbox_spec_id": "default"})
    assert await started_from(app, member, llm_profile="own") == "default"

    await give(client, "Tools", image="debian:14", is_default=True, enforced=True)
    assert await started_from(app, member, llm_profile="own") == tools["id"]
    settings = (await member.get(CHOICE)).json()
    assert (settings["sandbox_spec_id"], settings["enforced_by"]) == (tools["id"], "organisation")
    start = {"llm_profile": "own", "sandbox_spec_id": "default"}
    for refused in (
        await member.put(CHOICE, json={"sandbox_spec_id": python["id"]}),
        await member.post("/api/v1/app-conversations", json=start),
        await client.post(SPECS, json={"name": "Tools", "image": "debian:12"}),
    ):
        assert_problem(refused, 403, "setting_enforced")
    assert (await client.delete(f"{ITEMS}/sandbox_spec/Tools")).status_code == 204
    assert await started_from(app, member, llm_profile="own") == "default"


async def test_an_own_spec_overrides_the_default_of_the_same_name_and_a_server_without_choice_gives_none(
    app: App, client: httpx.AsyncClient
) -> None:
    await give(client, "Python", image="debian:12", is_default=True)
    own = await create(client, name="Python", image="debian:13")
    assert await started_from(app, client) == own
    given = (await client.get("/api/v1/settings/levels/items")).json()
    assert [(one["sandbox_spec"]["base"], one["overridden_by"]) for one in given] == [("debian:12", "user")]
    assert [one["id"] for one in await listed_specs(client)] == ["default", own]

    await client.put(CHOICE, json={"sandbox_spec_id": own})
    await give(client, "Python", image="debian:14", enforced=True)
    [enforced] = [spec for spec in await listed_specs(client) if spec["level"] == "organisation"]
    assert await started_from(app, client) == enforced["id"], "what is chosen by its name is enforced"

    app.state["config"] = app.config.model_copy(update={"sandbox_specs": "nobody"})
    assert await started_from(app, client) == "default"
    refused = await client.put(f"{ITEMS}/sandbox_spec/Python", json={"image": "debian:12"})
    assert_problem(refused, 403, "sandbox_specs_not_allowed")


async def give(client: httpx.AsyncClient, path: str, **body: object) -> dict[str, Any]:
    reply = await client.put(f"{ITEMS}/sandbox_spec/{path}", json=body)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def listed_specs(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"{SPECS}/search")).json()["items"]
    return found


async def require_buildable(app: App, client: httpx.AsyncClient, base: str) -> None:
    """Checks that the app server finds the files from which the base image of a sandbox is built."""
    sandbox = Sandbox(user_id=UUID(client.headers["X-Test-User"]), base_image=base)
    image = Rows(app.config, app.database).base_of(sandbox)
    assert image is not None
    found = await image.files()
    assert found is not None
    files, tar = found
    assert files.name == base
    assert read_packed(io.BytesIO(gzip.decompress(tar)), files.dockerfile).dockerfile == "Dockerfile"
