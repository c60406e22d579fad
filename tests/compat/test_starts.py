"""Tests of the fields of the SDK's start request besides the agent and the workspace."""

import contextlib
import json
import subprocess
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from openhands.sdk import Agent, Tool
from openhands.sdk.conversation.request import StartConversationRequest
from openhands.sdk.workspace import LocalWorkspace, RemoteWorkspace

from tests.compat.conftest import Begin, Heard, make_agent, make_llm
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, fail, say


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=path, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def completions(folder: Path, count: int) -> list[dict[str, Any]]:
    """Waits until the folder has `count` logs of completions, and returns all of its logs,
    the oldest first.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(json.JSONDecodeError):  # a file is still being written
            found = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
            if len(found) >= count:
                return found
        time.sleep(0.02)
    raise AssertionError(f"There are no {count} logs in {folder}.")


def test_with_worktree_the_agent_leaves_the_checkout_alone(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    repository = Path(workspace.working_dir)
    (repository / "README.md").write_text("harbour\n")
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Begin")
    agent = make_agent(scripted_llm, "terminal")
    request = StartConversationRequest(
        agent=agent,
        workspace=LocalWorkspace(working_dir=str(repository)),
        conversation_id=uuid4(),
        worktree=True,
    )
    body = request.model_dump(mode="json", context={"expose_secrets": True})
    workspace.client.post("/api/conversations", json=body).raise_for_status()
    scripted_llm.script(call("terminal", command="git mv README.md moved"), say("Done."))

    conversation = begin(agent=agent, conversation_id=request.conversation_id)
    conversation.send_message("Move it.")
    conversation.run(timeout=PATIENCE_SECONDS)

    info = workspace.client.get(f"/api/conversations/{conversation.id}").json()
    place = Path(info["workspace"]["working_dir"])
    assert (place.name, place.parent.name) == (repository.name, str(conversation.id))
    assert (place / "moved").exists()
    assert git(place, "branch", "--show-current") == f"openhands/{conversation.id}"
    assert git(repository, "status", "--porcelain") == ""


def test_completions_are_written_to_the_folder_of_the_client_without_secrets(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace, tmp_path: Path
):
    folder = tmp_path / "completions"
    llm = make_llm(scripted_llm, log_completions=True, log_completions_folder=str(folder))
    agent = Agent(llm=llm, tools=[Tool(name="terminal")])
    scripted_llm.script(call("terminal", command="echo $TOKEN"), say("It is correct-horse."))

    conversation = begin(agent=agent, secrets={"TOKEN": "correct-horse"})
    conversation.send_message("Say the token correct-horse.")
    conversation.run(timeout=PATIENCE_SECONDS)

    written = completions(folder, 2)
    assert all(file.name.startswith("openai__scripted-") for file in folder.iterdir())
    assert written[0]["response"]["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "terminal"
    assert written[1]["messages"][-1]["role"] == "tool"
    assert written[1]["usage_summary"]["prompt_tokens"] > 0
    assert not any("correct-horse" in file.read_text() for file in folder.iterdir())
    logged = workspace.client.get(f"/api/conversations/{conversation.id}/events/search").json()["items"]
    assert "LLMCompletionLogEvent" not in {event["kind"] for event in logged}


def test_a_completion_that_fails_is_written_with_its_error(
    begin: Begin, scripted_llm: ScriptedLLM, tmp_path: Path
):
    folder = tmp_path / "completions"
    llm = make_llm(scripted_llm, log_completions=True, log_completions_folder=str(folder))
    scripted_llm.script(fail(400))

    conversation = begin(agent=Agent(llm=llm))
    conversation.send_message("Go.")
    conversation.run(blocking=False)

    (written,) = completions(folder, 1)
    assert written["error"]["type"] == "LLMBadRequestError"


def test_a_conversation_has_a_title_after_its_first_message(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    heard = Heard()

    conversation = begin(callbacks=[heard])
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    heard.wait_for(lambda event: event.kind == "ConversationStateUpdateEvent" and event.key == "title")
    assert conversation.state.refresh_from_server()["title"] == "A fine title"


def test_without_autotitle_a_conversation_has_no_title(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    agent = make_agent(scripted_llm)
    request = StartConversationRequest(
        agent=agent,
        workspace=LocalWorkspace(working_dir=str(workspace.working_dir)),
        conversation_id=uuid4(),
        autotitle=False,
    )
    body = request.model_dump(mode="json", context={"expose_secrets": True})
    workspace.client.post("/api/conversations", json=body).raise_for_status()
    scripted_llm.script(say("Done."))

    conversation = begin(agent=agent, conversation_id=request.conversation_id)
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.refresh_from_server()["title"] is None
    assert len(scripted_llm.requests) == 1
