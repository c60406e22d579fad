"""Tests of a conversation with several repositories: their set-up scripts, their skills and their changes."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from app_server.conversations.start.setup_script import STAGE
from tests.app_server.conversations.conftest import ROOT, Home, commit, eventually, git


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    path = tmp_path / "lamp"
    (path / ".openhands").mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    (path / "README.md").write_text("Lamp\n")
    (path / "AGENTS.md").write_text("Light it at night.\n")
    (path / ".openhands" / "setup.sh").write_text(SCRIPT)
    commit(path, "A lamp")
    return path


SCRIPT = 'echo "set up $(basename "$PWD")" | tee -a ../order; test ! -e ../broken-$(basename "$PWD")\n'


HOOKS = '{"hooks": {"SessionStart": [{"hooks": [{"command": "touch .git/greeted"}]}]}}'
SERVER = '{"mcpServers": {"sums": {"command": "false"}}}'


def stage_of(task: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in task["stages"] if each["status"] == STAGE)


async def setup_ended(home: Home, conversation_id: str) -> Any:
    found = stage_of(await home.task(conversation_id))
    return found if found["state"] in {"done", "failed"} else None


def by_kind(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {item["offer"]["kind"]: item for item in items}


async def check_what_joins(
    post: Callable[..., Awaitable[Any]], first: str, of_lamp: dict[str, dict[str, Any]]
) -> None:
    """Checks two repositories that offer the same MCP server: only the server of the repository that the
    user allows first is loaded.

    post: calls a route of the conversation.
    first: the name of the first repository.
    of_lamp: what the second repository, "lamp", offers, by kind.
    """
    hook, server = (of_lamp[kind]["offer"]["hash"] for kind in ("hooks", "mcp_server"))
    await post("consent", allow=[server], repository=first)
    joined = (await post("consent", allow=[hook, server], repository="lamp")).json()
    of_lamp = by_kind(joined["further"][0]["items"])
    assert [of_lamp[kind]["is_loaded"] for kind in ("hooks", "mcp_server")] == [True, False]
    assert [of_lamp[kind]["is_name_taken"] for kind in ("hooks", "mcp_server")] == [False, True]
    assert by_kind(joined["items"])["mcp_server"]["is_loaded"]


async def test_scripts_skills_and_changes_of_each_repository(
    home: Home, repository: Path, lamp: Path
) -> None:
    first = repository.name
    for path in (repository, lamp):
        (path / ".openhands").mkdir(exist_ok=True)
        (path / ".openhands" / "setup.sh").write_text(SCRIPT)
        (path / ".mcp.json").write_text(SERVER)
        commit(path, "What would run")
    (lamp / ".openhands" / "hooks.json").write_text(HOOKS)
    commit(lamp, "A hook")
    task = await home.ready(
        selected_repository=str(repository), more_repositories=[{"repository": str(lamp)}]
    )
    route = f"{ROOT}/{task['id']}"
    skipped = stage_of(await home.task(task["id"]))
    assert skipped["state"] == "skipped"
    why = ".openhands/setup.sh was not run: you have not allowed it yet"
    assert skipped["detail"] == f"{first}: {why}; lamp: {why}"

    async def post(path: str, **body: Any) -> Any:
        return await home.client.post(f"{route}/{path}", json=body)

    shown = (await home.client.get(f"{route}/consent")).json()
    [further] = shown["further"]
    assert (shown["directory"], further["directory"], further["repository"]) == (first, "lamp", str(lamp))
    script = further["items"][0]["offer"]["hash"]
    assert script == shown["items"][0]["offer"]["hash"], "the same script in both"

    unknown = await post("consent", allow=[script], repository="pier")
    assert (unknown.status_code, unknown.json()["code"]) == (400, "repository_not_in_conversation")
    only_lamp = (await post("consent", allow=[script], repository="lamp")).json()
    assert [only_lamp["items"][0]["state"], only_lamp["further"][0]["items"][0]["state"]] == [
        "pending",
        "allowed",
    ]
    done = await eventually(lambda: setup_ended(home, task["id"]))
    assert (done["state"], done["detail"]) == ("done", "lamp: Ran .openhands/setup.sh")
    assert done["output"] == "== lamp: .openhands/setup.sh ==\nset up lamp\n"

    await home.shell(task["id"], "touch ../broken-lamp; rm ../order")
    await post("consent", allow=[script])
    failed = await eventually(lambda: setup_ended(home, task["id"]))
    assert failed["detail"] == "lamp: .openhands/setup.sh failed with exit code 1."
    assert await home.shell(task["id"], "cat ../order") == f"set up {first}\nset up lamp"
    assert f"set up {first}\n== lamp: .openhands/setup.sh ==\nset up lamp" in failed["output"]

    await home.shell(task["id"], "rm ../broken-lamp ../order; echo dim >> ../lamp/README.md")
    assert (await post("run-setup-script", hash=script, repository="lamp")).status_code == 200
    await eventually(lambda: setup_ended(home, task["id"]))
    assert await home.shell(task["id"], "cat ../order") == "set up lamp"

    skills = (await home.client.get(f"{route}/skills")).json()["skills"]
    assert "../lamp/AGENTS.md" in [skill["name"] for skill in skills]

    assert (await home.client.get(f"{route}/git/patch")).text == ""
    patch = (await home.client.get(f"{route}/git/patch", params={"repository": "lamp"})).text
    assert "+dim" in patch
    changes = (await home.client.get(f"{route}/git/changes", params={"path": "../lamp"})).json()
    assert [Path(one["path"]).name for one in changes] == ["README.md"]
    diff = (await home.client.get(f"{route}/git/diff", params={"path": "../lamp/README.md"})).json()
    assert (diff["original"], diff["modified"]) == ("Lamp\n", "Lamp\ndim\n")
    elsewhere = await home.client.get(f"{route}/git/patch", params={"repository": "../lamp"})
    assert elsewhere.status_code == 400

    await check_what_joins(post, first, by_kind(further["items"]))


async def test_what_a_start_makes_of_the_executables_of_each_repository(
    home: Home, repository: Path, lamp: Path
) -> None:
    (lamp / ".openhands" / "setup.sh").write_text("echo dark; exit 3\n")
    commit(lamp, "It fails")
    (lamp / ".openhands" / "hooks.json").write_text(HOOKS)
    (lamp / ".mcp.json").write_text(SERVER)
    (repository / ".mcp.json").write_text(SERVER)
    commit(lamp, "A hook and a server")
    commit(repository, "A server")
    asked = {"selected_repository": str(repository), "more_repositories": [{"repository": str(lamp)}]}
    seen = await home.ready(**asked)
    [further] = (await home.client.get(f"{ROOT}/{seen['id']}/consent")).json()["further"]
    hook, server = (by_kind(further["items"])[kind]["offer"]["hash"] for kind in ("hooks", "mcp_server"))
    task = await home.ready(**asked, consent=[hook, server])
    [last] = [
        one for one in (await home.task(task["id"]))["stages"] if one["status"] == "STARTING_CONVERSATION"
    ]
    assert last["detail"] == (
        "The MCP server sums of lamp/.mcp.json is not used: another server has this name."
    )
    [again] = (await home.client.get(f"{ROOT}/{task['id']}/consent")).json()["further"]
    assert by_kind(again["items"])["hooks"]["is_loaded"]

    task = await home.start(**asked, consent=[further["items"][0]["offer"]["hash"]])
    ended = await home.ended(task["id"])
    assert ended["error"]["code"] == "setup_script_failed"
    assert ended["error"]["cause"] == "lamp: .openhands/setup.sh failed with exit code 3."
    assert "dark" in ended["error"]["output"]
