"""Conversations that are started with `worktree` work in a separate git work tree. The user's checkout stays
unchanged.
"""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.agent_runtime.server.test_children import git, repository
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say

__all__ = ["repository"]


def start(server: AgentServer, llm: ScriptedLLM, path: Path, **fields: Any) -> dict[str, Any]:
    body = {"worktree": True, "conversation_id": str(uuid4()), **start_request(llm, path, **fields)}
    body["workspace"] = {"kind": "LocalWorkspace", "working_dir": str(path)}
    found: dict[str, Any] = server.call("POST", "/api/conversations", json=body)
    return found


def place_of(info: dict[str, Any]) -> Path:
    return Path(info["workspace"]["working_dir"])


def delete(server: AgentServer, info: dict[str, Any]) -> None:
    server.call("DELETE", f"/api/conversations/{info['id']}")


def branches(path: Path) -> list[str]:
    return git(path, "branch", "--format=%(refname:short)").splitlines()


def test_the_agent_works_on_a_branch_in_a_work_tree_and_the_checkout_stays_as_it_is(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    scripted_llm.script(call("terminal", command="cat README.md > copy"), say("Done."))
    message = {"content": [{"type": "text", "text": "Copy the readme."}], "run": True}
    info = start(server, scripted_llm, repository, initial_message=message)
    wait_until(lambda: status_of(server, info["id"]) == "finished")

    place = place_of(info)
    assert (place.name, place.parent.name) == (repository.name, info["id"])
    assert (place / "copy").read_text() == "harbour\n"
    assert git(place, "branch", "--show-current") == f"openhands/{info['id']}"
    assert not (repository / "copy").exists()
    assert git(repository, "branch", "--show-current") == "main"


def test_the_prompt_says_what_git_says_when_the_conversation_begins(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    (repository / "README.md").write_text("haven\n")
    scripted_llm.script(call("terminal", command="touch later"), say("Done."))
    message = {"content": [{"type": "text", "text": "Go on."}], "run": True}
    info = start(server, scripted_llm, repository, initial_message=message, worktree=False)
    wait_until(lambda: status_of(server, info["id"]) == "finished")

    first, second = (request.messages[0] for request in scripted_llm.requests)
    lines = str(first["content"])
    assert f"Last commit: {git(repository, 'rev-parse', 'HEAD').strip()[:12]}" in lines
    assert "Changed files, 1 as in `git status --short`: M README.md" in lines
    assert (repository / "later").exists()
    assert second == first


def test_without_open_work_it_goes_with_the_last_conversation_that_works_in_it(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    info = start(server, scripted_llm, repository)
    fork = server.call("POST", f"/api/conversations/{info['id']}/fork", json={})
    place = place_of(info)

    delete(server, info)
    assert place.exists()
    delete(server, fork)

    assert not place.parent.exists()
    assert branches(repository) == ["main"]


def test_work_that_is_not_committed_or_not_merged_survives(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    open_work, committed = start(server, scripted_llm, repository), start(server, scripted_llm, repository)
    (place_of(open_work) / "draft").write_text("draft")
    (place_of(committed) / "new").write_text("new")
    git(place_of(committed), "add", "-A")
    git(place_of(committed), "commit", "-q", "-m", "New")

    delete(server, open_work)
    delete(server, committed)

    assert (place_of(open_work) / "draft").exists()
    assert not place_of(committed).exists()
    assert f"openhands/{committed['id']}" in branches(repository)


def test_it_begins_where_the_options_say(server: AgentServer, scripted_llm: ScriptedLLM, repository: Path):
    git(repository, "checkout", "-q", "-b", "topic")
    (repository / "sub").mkdir()
    (repository / "sub" / "topic").write_text("topic")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Topic")

    def begun(**options: Any) -> Path:
        options = {"branch_prefix": "me/", **options}
        return place_of(start(server, scripted_llm, repository / "sub", worktree_options=options))

    for options in ({"base": "head"}, {"base": "ref", "ref": "topic"}):
        place = begun(**options)
        assert place.name == "sub"
        assert (place / "topic").exists()
        assert git(place, "branch", "--show-current").startswith("me/")
    assert not (begun() / "topic").exists()


def test_starting_again_gives_back_the_same_conversation_in_the_same_place(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    info = start(server, scripted_llm, repository)
    again = start(server, scripted_llm, repository, conversation_id=info["id"])
    assert place_of(again) == place_of(info)
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def test_outside_of_a_repository_the_agent_works_in_the_workspace(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    assert place_of(start(server, scripted_llm, tmp_path)) == tmp_path


def test_a_start_that_fails_leaves_no_work_tree(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    body = {**start_request(scripted_llm, repository), "worktree": True}
    body["workspace"] = {"working_dir": str(repository)}
    body["agent"] = {**body["agent"], "tools": [{"name": "no_such_tool"}]}
    with server.http as http:
        answer = http.post("/api/conversations", json=body)
    assert answer.json()["code"] == "tool_not_found"
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert branches(repository) == ["main"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"worktree": True, "worktree_options": {"base": "ref", "ref": "nowhere"}}, "worktree_failed"),
        ({"worktree": True, "worktree_options": {"base": "ref"}}, "validation_failed"),
        ({"worktree": True, "worktree_options": {"ref": "main"}}, "validation_failed"),
        ({"worktree": True, "worktree_options": {"branch_prefix": "-x"}}, "validation_failed"),
        ({"worktree_options": {}}, "validation_failed"),
    ],
)
def test_bad_options_are_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path, fields: dict[str, Any], code: str
):
    body = {**start_request(scripted_llm, repository), **fields}
    body["workspace"] = {"working_dir": str(repository)}
    with server.http as http:
        answer = http.post("/api/conversations", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert len(git(repository, "worktree", "list").splitlines()) == 1
