"""Tests of starting a conversation, with real git and a real sandbox process: success, and each failure."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, allowed, client_of, commit, eventually, git
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port


def stages_of(task: dict) -> dict[str, str]:
    return {stage["status"]: stage["state"] for stage in task["stages"]}


async def test_a_local_repository_is_brought_up(home: Home, repository: Path) -> None:
    task = await home.start(
        selected_repository=str(repository),
        initial_message={"role": "user", "content": [{"type": "text", "text": "Fix the crane\nplease"}]},
    )

    assert task["status"] == "WORKING"
    assert task["id"] == task["app_conversation_id"] == task["sandbox_id"]
    task = await home.ended(task["id"])

    assert task["error"] is None
    assert task["status"] == "READY"
    assert stages_of(task) == {
        "WORKING": "done",
        "WAITING_FOR_SANDBOX": "done",
        "PREPARING_REPOSITORY": "done",
        "RUNNING_SETUP_SCRIPT": "skipped",
        "SETTING_UP_GIT_HOOKS": "skipped",
        "SETTING_UP_SKILLS": "done",
        "STARTING_CONVERSATION": "done",
    }
    conversation = await home.conversation(task["id"])
    assert conversation["title"] == "Fix the crane"
    assert conversation["sandbox_status"] == "RUNNING"
    assert conversation["session_api_key"]
    assert await home.shell(task["id"], "git branch --show-current; git config remote.origin.url") == (
        f"main\n{repository}"
    )


async def test_what_a_killed_server_had_fetched_is_fetched_anew_and_nothing_of_it_stays(
    home: Home, repository: Path
) -> None:
    conversation_id = uuid4()
    clones = home.config.home / "clones"
    left = clones / conversation_id.hex / "pack"
    left.mkdir(parents=True)
    (left / "half").write_text("half")

    await home.ready(selected_repository=str(repository), conversation_id=conversation_id.hex)

    assert list(clones.iterdir()) == []


async def test_without_a_repository_an_empty_one_is_begun(home: Home) -> None:
    task = await home.ready()

    assert await home.shell(task["id"], "git branch --show-current; git config user.name") != ""
    reply = await home.client.get(f"{ROOT}/{task['id']}/git/changes")
    assert reply.json() == [], reply.text


async def test_an_empty_repository_is_brought_up(home: Home, tmp_path: Path) -> None:
    empty = tmp_path / "empty.git"
    empty.mkdir()
    git(empty, "init", "-q", "--bare", "-b", "trunk")

    task = await home.ready(selected_repository=str(empty))

    assert await home.shell(task["id"], "basename $PWD; git branch --show-current") == "empty\ntrunk"


async def test_the_chosen_branch_is_checked_out_and_changes_count_from_there(
    home: Home, repository: Path
) -> None:
    git(repository, "switch", "-q", "-c", "feature/new")
    (repository / "new.txt").write_text("new\n")
    commit(repository, "Add new")
    git(repository, "switch", "-q", "main")

    task = await home.ready(selected_repository=str(repository), selected_branch="feature/new")
    await home.shell(task["id"], "echo more >> new.txt && git commit -qam more && echo x > untracked")

    changes = (await home.client.get(f"{ROOT}/{task['id']}/git/changes")).json()
    assert changes == [{"status": "UPDATED", "path": "new.txt"}, {"status": "ADDED", "path": "untracked"}]
    diff = (await home.client.get(f"{ROOT}/{task['id']}/git/diff", params={"path": "new.txt"})).json()
    assert diff == {"original": "new\n", "modified": "new\nmore\n"}
    patch = await home.client.get(f"{ROOT}/{task['id']}/git/patch")
    assert patch.headers["content-type"].startswith("text/x-diff"), patch.text
    assert "+more" in patch.text
    assert "+x" in patch.text


@pytest.fixture
def git_daemon(repository: Path) -> Iterator[str]:
    """Serves the parent directory of `repository` over the git protocol. Yields the git:// address of this
    directory.
    """
    port = free_port()
    daemon = subprocess.Popen(
        [
            "git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1", f"--port={port}",
            f"--base-path={repository.parent}", str(repository.parent),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield f"git://127.0.0.1:{port}"
    daemon.terminate()
    daemon.wait(PATIENCE_SECONDS)


async def test_a_repository_on_a_git_server_is_brought_up(home: Home, git_daemon: str) -> None:
    task = await home.ready(selected_repository=f"{git_daemon}/harbour")

    assert await home.shell(task["id"], "cat README.md; git config remote.origin.url") == (
        f"harbour\n{git_daemon}/harbour"
    )


async def test_a_missing_repository_on_a_git_server_explains_itself(home: Home, git_daemon: str) -> None:
    task = await home.ended((await home.start(selected_repository=f"{git_daemon}/nothing"))["id"])

    assert task["status"] == "ERROR"
    assert task["error"]["code"] == "repository_not_found"
    assert task["error"]["stage"] == "PREPARING_REPOSITORY"
    assert task["error"]["fix"]
    assert "nothing" in task["error"]["output"]
    assert stages_of(task)["PREPARING_REPOSITORY"] == "failed"
    assert stages_of(task)["RUNNING_SETUP_SCRIPT"] == "pending"
    assert (await home.conversation(task["id"]))["start_status"] == "ERROR"


async def test_a_missing_branch_names_those_that_exist_and_a_retry_goes_on(
    home: Home, repository: Path
) -> None:
    task = await home.start(selected_repository=str(repository), selected_branch="release")
    task = await home.ended(task["id"])
    assert task["error"]["code"] == "branch_not_found"
    assert "main" in task["error"]["cause"]
    began = task["stages"][0]["started_at"]

    git(repository, "branch", "release")
    await home.client.post(f"{ROOT}/start-tasks/{task['id']}/retry")
    task = await home.ended(task["id"])

    assert task["status"] == "READY", task["error"]
    assert task["stages"][0]["started_at"] == began
    assert await home.shell(task["id"], "git branch --show-current") == "release"


async def test_a_retry_takes_another_branch_or_another_repository(
    home: Home, repository: Path, tmp_path: Path
) -> None:
    other = tmp_path / "lagoon"
    shutil.copytree(repository, other)
    git(other, "branch", "trunk")
    start = await home.start(selected_repository=str(repository), selected_branch="release")
    retry = f"{ROOT}/start-tasks/{start['id']}/retry"
    assert (await home.ended(start["id"]))["error"]["code"] == "branch_not_found"

    told = (await home.client.post(retry, json={"selected_branch": "trunk"})).raise_for_status().json()
    assert told["request"]["selected_branch"] == "trunk"
    assert (await home.ended(start["id"]))["error"]["code"] == "branch_not_found"
    nowhere = {"selected_repository": str(tmp_path / "nowhere"), "selected_branch": None}
    assert_problem(await home.client.post(retry, json=nowhere), 422, "repository_not_found")
    (await home.client.post(retry, json={"selected_repository": str(other)})).raise_for_status()
    task = await home.ended(start["id"])

    assert task["status"] == "READY", task["error"]
    assert await home.shell(task["id"], "basename $PWD; git branch --show-current") == "lagoon\ntrunk"
    shown = await home.conversation(task["id"])
    assert (shown["selected_repository"], shown["selected_branch"]) == (str(other), "trunk")
    assert_problem(await home.client.post(retry, json={"selected_branch": None}), 409, "start_not_failed")
    assert (await home.client.post(retry, json={})).is_success, "it stays as it is"


async def test_a_retry_takes_the_default_branch(home: Home, repository: Path) -> None:
    start = await home.start(selected_repository=str(repository), selected_branch="release")
    await home.ended(start["id"])

    await home.client.post(f"{ROOT}/start-tasks/{start['id']}/retry", json={"selected_branch": None})
    task = await home.ended(start["id"])

    assert task["status"] == "READY", task["error"]
    assert await home.shell(task["id"], "git branch --show-current") == "main"
    assert (await home.conversation(task["id"]))["selected_branch"] is None


async def test_what_was_fetched_is_not_replaced_by_a_retry(home: Home, repository: Path) -> None:
    (repository / ".openhands").mkdir()
    (repository / ".openhands/setup.sh").write_text("exit 3\n")
    commit(repository, "Add setup")
    task = await home.ended((await home.start(**allowed(repository)))["id"])
    assert task["error"]["code"] == "setup_script_failed"

    retry = f"{ROOT}/start-tasks/{task['id']}/retry"
    refused = await home.client.post(retry, json={"selected_branch": "release"})

    assert_problem(refused, 409, "repository_is_there")
    assert (await home.task(task["id"]))["status"] == "ERROR"


async def test_a_failing_setup_script_shows_its_output_and_a_retry_runs_it_again(
    home: Home, repository: Path
) -> None:
    (repository / ".openhands").mkdir()
    (repository / ".openhands/setup.sh").write_text("echo looking\n[ -e ../flag ] || exit 3\ntouch made\n")
    commit(repository, "Add setup")

    task = await home.ended((await home.start(**allowed(repository)))["id"])
    assert task["error"]["code"] == "setup_script_failed"
    assert "exit code 3" in task["error"]["cause"]
    assert "looking" in task["error"]["output"]

    await home.shell(task["id"], "touch ../flag")
    await home.client.post(f"{ROOT}/start-tasks/{task['id']}/retry")
    task = await home.ended(task["id"])

    assert task["status"] == "READY", task["error"]
    assert await home.shell(task["id"], "ls made") == "made"


async def test_a_retry_runs_the_repaired_setup_script_that_was_allowed_again(
    home: Home, repository: Path
) -> None:
    script = repository / ".openhands/setup.sh"
    script.parent.mkdir()
    script.write_text("touch left-over\nexit 3\n")
    commit(repository, "Add setup")
    task = await home.ended((await home.start(**allowed(repository)))["id"])
    assert task["error"]["code"] == "setup_script_failed"

    script.write_text("touch made\n")
    commit(repository, "Mend setup")
    await home.client.post(f"{ROOT}/start-tasks/{task['id']}/retry")
    task = await home.ended(task["id"])
    assert task["status"] == "READY", task["error"]
    assert stages_of(task)["RUNNING_SETUP_SCRIPT"] == "skipped"
    assert await home.shell(task["id"], "ls made left-over 2>/dev/null || true") == ""

    again = await home.ready(**allowed(repository))
    assert await home.shell(again["id"], "ls made left-over 2>/dev/null || true") == "made"


async def test_a_pre_commit_script_becomes_a_hook(home: Home, repository: Path) -> None:
    (repository / ".openhands").mkdir()
    (repository / ".openhands/pre-commit.sh").write_text("echo refused >&2\nexit 1\n")
    commit(repository, "Add hook")

    task = await home.ready(**allowed(repository))

    assert stages_of(task)["SETTING_UP_GIT_HOOKS"] == "done"
    said = await home.shell(task["id"], "git commit --allow-empty -m no || echo not committed")
    assert sorted(said.splitlines()) == ["not committed", "refused"]


async def test_a_path_without_a_repository_is_refused_at_once(home: Home, tmp_path: Path) -> None:
    reply = await home.client.post(ROOT, json={"selected_repository": str(tmp_path / "nothing")})

    assert reply.status_code == 422
    assert reply.json()["code"] == "repository_not_found"


async def test_only_owners_and_admins_may_use_paths_of_the_server(home: Home, repository: Path) -> None:
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as member:
        for address in (str(repository), f"file://{repository}"):
            reply = await member.post(ROOT, json={"selected_repository": address, "llm_profile": None})
            assert reply.json()["code"] in {"repository_not_allowed", "llm_profile_not_found"}
            assert reply.is_error


async def test_an_unknown_profile_is_refused_at_once(home: Home) -> None:
    reply = await home.client.post(ROOT, json={"llm_profile": "nobody"})

    assert reply.status_code == 404
    assert reply.json()["code"] == "llm_profile_not_found"


async def test_a_password_in_a_url_is_shown_nowhere(home: Home) -> None:
    place = f"127.0.0.1:{free_port()}/team/project.git"
    reply = await home.client.post(ROOT, json={"selected_repository": f"http://me:canary-secret@{place}"})
    task = await home.ended(reply.json()["id"])
    conversation = await home.conversation(task["id"])

    assert task["error"]["code"] == "repository_clone_failed", task["error"]
    assert conversation["selected_repository"] == f"http://{place}"
    assert "canary-secret" not in f"{task}{conversation}{reply.text}"


async def test_a_start_with_the_same_id_is_one_start(home: Home) -> None:
    conversation_id = str(uuid4())
    replies = await asyncio.gather(*(home.start(conversation_id=conversation_id) for _ in range(1)))
    again = await home.start(conversation_id=conversation_id)

    assert {task["id"] for task in (*replies, again)} == {conversation_id.replace("-", "")}
    async with client_of(home.config, await home.key_of(Role.ADMIN)) as stranger:
        reply = await stranger.post(ROOT, json={"conversation_id": conversation_id})
        assert reply.status_code == 409


async def test_messages_sent_before_ready_are_delivered_once_and_in_order(
    home: Home, repository: Path
) -> None:
    task = await home.start(selected_repository=str(repository))
    url = f"{ROOT}/{task['id']}/send-message"
    for text in ("first", "second", "first"):
        message = {"id": text, "role": "user", "run": False, "content": [{"type": "text", "text": text}]}
        reply = await home.client.post(url, json=message)
        assert reply.json()["message"] == "queued"
    await home.ended(task["id"])
    reply = await home.client.post(url, json={**message, "id": "third"})
    assert reply.json() == {"success": True, "sandbox_status": "RUNNING", "message": None}

    async def messages() -> list[str] | None:
        found = await home.client.get(
            f"/api/v1/conversation/{task['id']}/events/search", params={"kind__eq": "MessageEvent"}
        )
        ids = [event["id"] for event in found.json()["items"]]
        return ids if "third" in ids else None

    assert await eventually(messages) == ["first", "second", "third"]


async def test_a_deleted_conversation_is_gone_at_once_and_its_sandbox_soon(home: Home) -> None:
    task = await home.ready()

    assert (await home.client.delete(f"{ROOT}/{task['id']}")).json() == {"success": True}

    assert await home.conversation(task["id"]) is None
    assert (await home.client.get(f"{ROOT}/count")).json() == 0

    async def sandbox_is_gone() -> bool:
        return (await home.client.get("/api/v1/sandboxes/search")).json()["items"] == []

    await eventually(sandbox_is_gone)
    assert (await home.client.delete(f"{ROOT}/{task['id']}")).status_code == 404


async def test_deleting_during_the_start_leaves_nothing_behind(home: Home, repository: Path) -> None:
    task = await home.start(selected_repository=str(repository))

    await home.client.delete(f"{ROOT}/{task['id']}")

    async def is_nothing_left() -> bool:
        lists = [
            await home.client.get(each) for each in ("/api/v1/sandboxes/search", f"{ROOT}/start-tasks/search")
        ]
        return not any(each.json()["items"] for each in lists)

    await eventually(is_nothing_left)
