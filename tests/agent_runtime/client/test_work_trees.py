"""Tests of sub-agents that work in a separate git work tree, and of the merge of their changes."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_runtime import Conversation, LocalWorkspace
from tests.agent_runtime.client.conftest import Place
from tests.agent_runtime.client.delegating import (
    agent_file,
    by_prompt,
    parent,
    results,
    results_in,
    steps,
    task,
    tasks,
)
from tests.agent_runtime.server.conftest import wait_until
from tests.support.scripted_llm import ScriptedLLM, Turn, call, calls, hang, say


@pytest.fixture
def place(local_or_remote: Place) -> Place:
    return local_or_remote


@pytest.fixture
def repository(place: Place) -> Path:
    return begun_repository(place)


def begun_repository(place: Place) -> Path:
    work = Path(place.workspace.working_dir)
    work.mkdir(parents=True, exist_ok=True)
    (work / "poem.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (work / "other.txt").write_text("other\n")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Begin")
    return work


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=path, check=True, capture_output=True, text=True
    ).stdout.strip()


def apart(prompt: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return task(prompt, isolation="worktree", **arguments)


def shell(command: str) -> Turn:
    return call("terminal", command=command)


def ran(place: Place, **turns: Any) -> Conversation:
    place.llm.fallback = by_prompt(**turns)
    conversation = parent(place)
    conversation.send_message("Begin.")
    conversation.run()
    return conversation


def note(result: dict[str, Any]) -> str:
    return str(result["content"][-1]["text"])


def test_work_of_two_sub_agents_in_separate_trees_is_merged(place: Place, repository: Path):
    (repository / "other.txt").write_text("edited, not committed\n")
    before = (git(repository, "rev-parse", "HEAD"), git(repository, "branch", "--all"))

    conversation = ran(
        place,
        Begin=steps(calls(apart("Top."), apart("Bottom.")), say("Done.")),
        Top=steps(shell("sed -i s/one/ONE/ poem.txt; touch new.txt; cat other.txt"), say("Top is done.")),
        Bottom=steps(
            shell("sed -i s/five/FIVE/ poem.txt; git rm -q --cached other.txt"), say("Bottom is done.")
        ),
    )

    assert (repository / "poem.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (repository / "new.txt").exists()
    assert (repository / "other.txt").read_text() == "edited, not committed\n"
    assert (git(repository, "rev-parse", "HEAD"), git(repository, "branch", "--all")) == before
    assert git(repository, "diff", "--cached", "--name-only") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert all(one["status"] == "completed" for one in results(conversation))
    assert all("poem.txt" in note(one) for one in results(conversation))
    # Each sub-agent began at the last commit, and its prompt says so.
    said = f"Last commit: {before[0][:12]}"
    assert all(said in str(request.messages[0]["content"]) for request in place.llm.requests)
    assert "edited, not committed" not in "".join(
        text for request in place.llm.requests for text in results_in(request) if "Merged" not in text
    )


def test_a_conflict_is_the_callers_to_settle_and_nothing_is_lost(place: Place, repository: Path):
    conversation = ran(
        place,
        Begin=steps(calls(apart("Write."), ("terminal", {"command": "true"})), say("Done.")),
        Write=steps(
            # Meanwhile the file in the caller's directory is edited, as a person could do it.
            shell(f"echo theirs > poem.txt; echo free > free.txt; echo mine > {repository}/poem.txt"),
            say("Written."),
        ),
    )

    (result,) = results(conversation)
    assert (result["status"], result["is_error"]) == ("error", True)
    assert result["content"][0]["text"] == "Written."
    assert "poem.txt" in note(result)
    assert (repository / "poem.txt").read_text() == "mine\n"
    assert not (repository / "free.txt").exists()
    (told,) = tasks(conversation).values()
    assert told["status"] == "conflict"
    assert told["ref"] in note(result)
    assert git(repository, "show", f"{told['ref']}:poem.txt") == "theirs"
    assert "refs/slipway" not in git(repository, "branch", "--all")


def test_a_definition_asks_for_a_tree_and_a_resumed_task_goes_on_in_it(place: Place, repository: Path):
    agent_file(place, ".agents/agents", "careful", "description: d\ntools: [terminal]\nisolation: worktree")

    conversation = ran(
        place,
        Begin=steps(
            call("task", prompt="Write.", subagent_type="careful"),
            call("task", prompt="Again.", resume="task_00000001"),
            say("Done."),
        ),
        Write=steps(
            shell("echo first > a.txt; git add a.txt; git -c user.name=A -c user.email=a@b commit -qm A"),
            say("Once."),
            shell("cat a.txt; echo second >> a.txt"),
            say("Twice."),
        ),
    )

    assert (repository / "a.txt").read_text() == "first\nsecond\n"
    assert git(repository, "log", "--oneline").count("\n") == 0
    assert [one["status"] for one in results(conversation)] == ["completed", "completed"]


def test_edits_that_git_cannot_merge_into_stay_as_they_are(place: Place, repository: Path):
    (repository / ".gitignore").write_text("ignored.txt\n")
    (repository / "ignored.txt").write_text("precious\n")

    conversation = ran(
        place,
        Begin=steps(call("task", prompt="Write.", isolation="worktree"), say("Done.")),
        Write=steps(shell("echo overwritten > ignored.txt; git add -f ignored.txt"), say("Written.")),
    )

    (result,) = results(conversation)
    assert (repository / "ignored.txt").read_text() == "precious\n"
    assert result["is_error"]
    assert "could not be brought" in note(result)
    assert (
        git(repository, "show", f"{tasks(conversation)['task_00000001']['ref']}:ignored.txt") == "overwritten"
    )


def test_without_a_repository_the_tree_is_refused(place: Place):
    conversation = ran(place, Begin=steps(call("task", prompt="Write.", isolation="worktree"), say("Done.")))

    (result,) = results(conversation)
    assert result["is_error"]
    assert "not in a git repository" in result["content"][0]["text"]
    assert "`shared`" in result["content"][0]["text"]


def test_a_program_that_keeps_nothing_leaves_nothing_in_the_repository(
    scripted_llm: ScriptedLLM, tmp_path: Path
):
    place = Place("local", scripted_llm, LocalWorkspace(tmp_path / "work"), None)
    work = begun_repository(place)
    scripted_llm.fallback = by_prompt(
        Begin=steps(calls(apart("Clash."), apart("Finish.")), call("task", **apart("Hang.")[1])),
        Clash=steps(shell(f"echo theirs > poem.txt; echo mine > {work}/poem.txt"), say("Written.")),
        Finish=steps(shell("echo new > new.txt"), say("Finished.")),
        Hang=lambda _: hang(),
    )
    with parent(place) as conversation:
        conversation.send_message("Begin.")
        conversation.run(blocking=False)
        wait_until(lambda: any("Hang." in str(one.messages[1]) for one in scripted_llm.requests))
        assert len(git(work, "worktree", "list").splitlines()) == 2

    assert len(git(work, "worktree", "list").splitlines()) == 1
    # The sub-agent's version of the conflicting file is kept only under this ref.
    kept = git(work, "for-each-ref", "--format=%(refname)", "refs/slipway/tasks").splitlines()
    assert [git(work, "show", f"{ref}:poem.txt") for ref in kept] == ["theirs"]


def test_a_program_that_comes_back_goes_on_in_the_tree(scripted_llm: ScriptedLLM, tmp_path: Path):
    place = Place("local", scripted_llm, LocalWorkspace(tmp_path / "work"), tmp_path / "conversations")
    work = begun_repository(place)
    scripted_llm.fallback = by_prompt(Begin=steps(call("task", **apart("Hang.")[1])), Hang=lambda _: hang())
    with parent(place) as conversation:
        conversation.send_message("Begin.")
        conversation.run(blocking=False)
        # The test waits for the sub-agent's request to the model. Before it, the work tree may be incomplete.
        wait_until(lambda: any("Hang." in str(one.messages[1]) for one in scripted_llm.requests))

    assert len(git(work, "worktree", "list").splitlines()) == 2
