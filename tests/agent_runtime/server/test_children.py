"""Tests of child conversations: they work in separate git work trees and are deleted with their parent."""

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.agent_runtime.client.delegating import by_prompt, steps
from tests.agent_runtime.conversation.conftest import agent_spec
from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, hang, say


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "README.md").write_text("harbour\n")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Begin")
    return work


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=path, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def new_parent(server: AgentServer, llm: ScriptedLLM, path: Path, **fields: Any) -> str:
    info: dict[str, Any] = server.call("POST", "/api/conversations", json=start_request(llm, path, **fields))
    return str(info["id"])


def start_child(server: AgentServer, parent: str, task: str, **fields: Any) -> dict[str, Any]:
    body = {"task": task, **fields}
    found: dict[str, Any] = server.call("POST", f"/api/conversations/{parent}/children", json=body)
    return found


def info_of(server: AgentServer, conversation_id: str) -> dict[str, Any]:
    return dict(server.call("GET", f"/api/conversations/{conversation_id}"))


def is_gone(server: AgentServer, conversation_id: str) -> bool:
    with server.http as http:
        return http.get(f"/api/conversations/{conversation_id}").status_code == 404


def test_a_child_works_on_a_branch_in_a_separate_work_tree(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    parent = new_parent(server, scripted_llm, repository.parent, tags={"team": "a"})
    (repository / "draft.txt").write_text("not committed")
    scripted_llm.script(
        call("terminal", command="cat README.md > copy; git branch --show-current"), say("Done.")
    )

    child = start_child(server, parent, "Copy the readme.", title="Copy")
    wait_until(lambda: status_of(server, child["conversation_id"]) == "finished")

    place = Path(child["workspace"])
    info = info_of(server, child["conversation_id"])
    assert child | {"conversation_id": "", "workspace": ""} == {
        "conversation_id": "",
        "parent_conversation_id": parent,
        "status": "running",
        "title": "Copy",
        "url": None,
        "workspace": "",
        "isolation": "worktree",
    }
    assert (place / "copy").read_text() == "harbour\n"
    assert not (place / "draft.txt").exists()
    assert not (repository / "copy").exists()
    assert git(place, "branch", "--show-current").startswith("child/")
    assert info["parent_conversation_id"] == parent
    assert info["title"] == "Copy"
    assert info["workspace"]["working_dir"] == str(place)
    assert info_of(server, parent)["sub_conversation_ids"] == [child["conversation_id"]]
    assert scripted_llm.requests[0].bearer == scripted_llm.api_key
    assert "Copy the readme." in str(scripted_llm.requests[0].messages)


@pytest.mark.parametrize("isolation", ["shared", "worktree"])
def test_without_a_repository_or_if_wanted_both_work_in_one_directory(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, isolation: str
):
    parent = new_parent(server, scripted_llm, tmp_path)
    scripted_llm.script(say("Done."))

    child = start_child(server, parent, "Look.", isolation=isolation)

    assert (child["isolation"], child["workspace"]) == ("shared", str(tmp_path / "work"))


def test_the_agent_starts_one_with_a_tool_and_goes_on(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    def answer(request: Request) -> Turn:
        if "You are the child." in str(request.messages):
            return say("The child is done.")
        if request.messages[-1]["role"] == "tool":
            return say("Started.")
        return call("start_child_conversation", task="You are the child.", title="Child")

    scripted_llm.fallback = answer
    agent = agent_spec(scripted_llm)
    agent["tools"].append({"name": "start_child_conversation"})
    body = start_request(scripted_llm, repository.parent, "Have a child do it.") | {"agent": agent}

    parent = server.call("POST", "/api/conversations", json=body)["id"]
    wait_until(lambda: status_of(server, parent) == "finished")
    (child,) = info_of(server, parent)["sub_conversation_ids"]
    wait_until(lambda: status_of(server, child) == "finished")

    (observation,) = [e["observation"] for e in server.events(parent) if e["kind"] == "ObservationEvent"]
    assert observation["kind"] == "StartChildConversationObservation"
    assert (observation["conversation_id"], observation["isolation"]) == (child, "worktree")
    assert "its own work tree" in observation["content"][0]["text"]


def test_deleting_the_parent_deletes_its_children_and_work_trees_without_open_work(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    parent = new_parent(server, scripted_llm, repository.parent)
    scripted_llm.fallback = lambda _: say("Done.")
    clean, dirty, ahead = (start_child(server, parent, f"Task {n}.") for n in range(3))
    for child in (clean, dirty, ahead):
        wait_until(lambda child=child: status_of(server, child["conversation_id"]) == "finished")
    (Path(dirty["workspace"]) / "open.txt").write_text("open work")
    git(Path(ahead["workspace"]), "commit", "-q", "--allow-empty", "-m", "Go ahead")
    branches = {
        name: git(Path(one["workspace"]), "branch", "--show-current")
        for name, one in {"clean": clean, "dirty": dirty, "ahead": ahead}.items()
    }

    server.call("DELETE", f"/api/conversations/{parent}")

    left = git(repository, "branch", "--format=%(refname:short)").split()
    assert all(is_gone(server, one["conversation_id"]) for one in (clean, dirty, ahead))
    assert not Path(clean["workspace"]).exists()
    assert not Path(ahead["workspace"]).exists()
    assert (Path(dirty["workspace"]) / "open.txt").read_text() == "open work"
    assert branches["clean"] not in left
    assert {branches["dirty"], branches["ahead"]} <= set(left)


@pytest.mark.parametrize("is_deleted", ["the caller", "the sub-agent"])
def test_deleting_leaves_nothing_of_the_tasks_in_the_repository(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path, is_deleted: str
):
    lead = repository / ".agents" / "agents" / "lead.md"
    lead.parent.mkdir(parents=True)
    lead.write_text("---\nname: lead\ndescription: Has others work.\n---\nYou lead.\n")
    apart = {"isolation": "worktree"}
    scripted_llm.fallback = by_prompt(
        Begin=steps(
            call("task", prompt="Finish.", **apart),
            call("task", prompt="Outer.", subagent_type="lead", **apart),
            hang(),
        ),
        Finish=steps(call("terminal", command="echo new > new.txt"), say("Finished.")),
        Outer=steps(call("task", prompt="Inner.", **apart), hang()),
        Inner=steps(call("terminal", command="echo open > open.txt; sleep 600")),
    )
    request = start_request(scripted_llm, repository.parent, "Begin.")
    request["agent"] |= {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
    parent = server.call("POST", "/api/conversations", json=request)["id"]
    trees = repository / ".git" / "worktrees"
    wait_until((repository / "new.txt").exists)
    # The test waits until both tasks have a work tree. Before that, a deletion would have nothing to remove.
    wait_until(lambda: trees.exists() and len(list(trees.iterdir())) == 2)

    children = info_of(server, parent)["sub_conversation_ids"]
    for gone in [parent] if is_deleted == "the caller" else children:
        server.call("DELETE", f"/api/conversations/{gone}")

    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert git(repository, "for-each-ref", "refs/slipway") == ""
    assert (repository / "new.txt").read_text() == "new\n"
    assert not (repository / "open.txt").exists()


def test_a_parent_forgets_a_child_that_is_deleted(
    server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    parent = new_parent(server, scripted_llm, repository.parent)
    scripted_llm.script(say("Done."))
    child = start_child(server, parent, "Look.")

    server.call("DELETE", f"/api/conversations/{child['conversation_id']}")

    assert info_of(server, parent)["sub_conversation_ids"] == []


def test_children_of_children_come_to_an_end(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.fallback = lambda _: say("Done.")
    parent = new_parent(server, scripted_llm, tmp_path)
    child = start_child(server, parent, "One.")["conversation_id"]
    grandchild = start_child(server, child, "Two.")["conversation_id"]

    with server.http as http:
        refused = http.post(f"/api/conversations/{grandchild}/children", json={"task": "Three."})

    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_children")


@pytest.mark.parametrize("body", [{}, {"task": ""}, {"task": "x", "isolation": "container"}])
def test_a_child_without_a_task_is_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, body: dict[str, Any]
):
    parent = new_parent(server, scripted_llm, tmp_path)

    with server.http as http:
        refused = http.post(f"/api/conversations/{parent}/children", json=body)

    assert refused.status_code == 422
    assert info_of(server, parent)["sub_conversation_ids"] == []


def test_a_child_survives_a_kill_and_is_not_reported(
    own_server: AgentServer, scripted_llm: ScriptedLLM, repository: Path
):
    with ReportReceiver() as receiver:
        own_server.report_url = receiver.url
        own_server.start()
        parent = new_parent(own_server, scripted_llm, repository.parent)
        scripted_llm.script(hang(), say("Done."))
        child = start_child(own_server, parent, "Look.")["conversation_id"]
        wait_until(lambda: scripted_llm.requests)

        own_server.kill()
        own_server.start()
        wait_until(lambda: status_of(own_server, child) == "finished")

        assert info_of(own_server, parent)["sub_conversation_ids"] == [child]
        wait_until(lambda: "sub_conversation_ids" in json.dumps(receiver.stored[UUID(parent).hex]))
        assert UUID(child).hex not in receiver.stored


def test_running_a_sub_agent_that_asks_lets_its_caller_go_on(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Write."), say("Done.")),
        Write=steps(call("terminal", command="touch written"), say("Written.")),
    )
    request = start_request(scripted_llm, tmp_path, "Begin.", confirmation_policy={"kind": "AlwaysConfirm"})
    request["agent"] |= {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
    parent = server.call("POST", "/api/conversations", json=request)["id"]
    wait_until(lambda: status_of(server, parent) == "waiting_for_confirmation")
    server.call("POST", f"/api/conversations/{parent}/run")
    wait_until(lambda: info_of(server, parent)["sub_conversation_ids"])
    wait_until(lambda: status_of(server, parent) == "waiting_for_confirmation")
    (child,) = info_of(server, parent)["sub_conversation_ids"]

    server.call("POST", f"/api/conversations/{child}/run")

    wait_until(lambda: status_of(server, parent) == "finished")
    assert (tmp_path / "work" / "written").exists()
