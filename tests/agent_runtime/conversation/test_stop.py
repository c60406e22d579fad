"""Tests of pausing, interrupting, closing and reopening a conversation."""

import json
from pathlib import Path

import pytest

from agent_runtime.conversation.creation import open_conversation
from agent_runtime.conversation.event_log.log import LogInUseError, LogMissingError
from agent_runtime.conversation.run.recovery import recover
from agent_runtime.llm.complete import LLMClient
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    Watch,
    kinds_of,
    of_kind,
    statuses_of,
    user,
)
from tests.support.scripted_llm import ScriptedLLM, call, calls, hang, hold, say

SLEEP = "sleep 600"


async def test_interrupting_during_a_model_call_drops_it_at_once(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(hang(), say("resumed"))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    await conversation.interrupt()

    assert kinds_of(conversation) == ["SystemPromptEvent", "MessageEvent", "InterruptEvent"]
    assert statuses_of(conversation) == ["running", "paused"]
    assert watch.frames[-1]["event"]["value"]["execution_status"] == "paused"
    await scripted_llm.wait_until(lambda: scripted_llm.cancelled == 1)

    await conversation.run()
    assert conversation.state.final_response == "resumed"


async def test_interrupting_a_running_command_answers_every_call_once(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(("terminal", {"command": SLEEP}), ("terminal", {"command": "echo never"})), say("I see.")
    )
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Sleep."))
    conversation.start()
    await watch.until_event("ActionEvent")

    await conversation.interrupt()

    first, second = of_kind(conversation, "AgentErrorEvent")
    assert "may have run" in first["error"]
    assert "Not run" in second["error"]
    assert conversation.status == "paused"

    await conversation.run()
    assert conversation.status == "finished"
    results = [m for m in scripted_llm.requests[1].messages if m["role"] == "tool"]
    assert len(results) == 2


async def test_pausing_during_a_model_call_stops_before_its_tools_run(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    reply = hold(call("terminal", command="echo later"))
    scripted_llm.script(reply, say("done"))
    conversation = conversations.create()
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    conversation.pause()
    reply.release()
    await conversation.wait()

    assert conversation.status == "paused"
    assert of_kind(conversation, "ObservationEvent") == []

    await conversation.run()
    assert conversation.state.final_response == "done"
    assert len(of_kind(conversation, "ObservationEvent")) == 1


async def test_pausing_during_a_command_lets_it_end_first(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="until [ -e go ]; do sleep 0.05; done; echo went"))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await watch.until_event("ActionEvent")

    conversation.pause()
    (conversations.workspace / "go").touch()
    await conversation.wait()

    assert conversation.status == "paused"
    assert "went" in json.dumps(of_kind(conversation, "ObservationEvent")[0])
    assert len(scripted_llm.requests) == 1


async def test_an_idle_conversation_can_be_paused(conversations: Conversations):
    conversation = conversations.create()

    conversation.pause()

    assert conversation.status == "paused"


async def test_a_closed_conversation_goes_on_where_it_was(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command=SLEEP), say("resumed"))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await watch.until_event("ActionEvent")
    await conversation.close()

    again = conversations.reopen()
    recover(again.run_context)
    recover(again.run_context)
    await again.run()

    (error,) = of_kind(again, "AgentErrorEvent")
    assert "by a restart" in error["error"]
    assert again.state.final_response == "resumed"
    assert statuses_of(again) == ["running", "finished"]


async def test_keys_are_not_written_to_disk(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create(secrets={"TOKEN": "canary-secret"})
    conversation.send(user("hello"))
    await conversation.close()

    stored = b"".join(path.read_bytes() for path in _files(conversations.path))

    assert scripted_llm.api_key.encode() not in stored
    assert b"canary-secret" not in stored


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


async def test_only_one_may_write_to_a_log(conversations: Conversations):
    conversations.create()

    with pytest.raises(LogInUseError):
        conversations.reopen()


async def test_a_conversation_that_is_not_there_cannot_be_opened(tmp_path: Path, client: LLMClient):
    with pytest.raises(LogMissingError):
        open_conversation(tmp_path / "nothing", client)


async def test_deleting_removes_the_log_and_keeps_the_workspace(conversations: Conversations):
    conversation = conversations.create()
    (conversations.workspace / "file").write_text("kept")

    await conversation.delete()

    assert not conversation.directory.exists()
    assert (conversations.workspace / "file").exists()
