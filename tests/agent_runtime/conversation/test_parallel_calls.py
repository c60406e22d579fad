"""Tests of several calls in one reply: which run in parallel, which wait, and what the log says after a
crash.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.agent.execute import ready
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.run.recovery import recover
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.tools.registry import ToolSpec, create_tools
from agent_runtime.tools.tool import ToolContext
from tests.agent_runtime.conversation.conftest import Conversations, Watch, of_kind, user
from tests.agent_runtime.conversation.meeting import Meeting
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, calls, say

MEETING = "tests.agent_runtime.conversation.meeting:MeetingTool"


def meet(place: str, *, at: str = "", **fields: Any) -> tuple[str, dict[str, Any]]:
    return ("meeting", {"place": place, "at": at or place, **fields})


@pytest.fixture
def create(conversations: Conversations) -> Callable[..., ConversationEngine]:
    def create(*, limit: int) -> ConversationEngine:
        return conversations.create(tools=[MEETING, "file_editor"], agent={"tool_concurrency_limit": limit})

    return create


async def run_to_end(conversation: ConversationEngine) -> None:
    conversation.send(user("Go."))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await conversation.run()


def answers(conversation: ConversationEngine) -> list[str]:
    return [e["observation"]["content"][0]["text"] for e in of_kind(conversation, "ObservationEvent")]


async def test_calls_that_do_not_conflict_run_at_the_same_time(create, scripted_llm: ScriptedLLM):
    scripted_llm.script(calls(meet("a", waits_for="b"), meet("b", waits_for="a")), say("done"))
    conversation = create(limit=2)

    await run_to_end(conversation)

    assert sorted(answers(conversation)) == ["met at a", "met at b"]


async def test_results_are_logged_as_they_come_and_sent_in_the_order_of_the_calls(
    create, scripted_llm: ScriptedLLM
):
    scripted_llm.script(calls(meet("slow", waits_for="?"), meet("quick")), say("done"))
    conversation = create(limit=2)
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await watch.until_event("ObservationEvent")

    await Meeting.of(conversation.spec.working_dir).arrive("?")
    await conversation.wait()

    assert answers(conversation) == ["met at quick", "met at slow"]
    sent = [m["content"] for m in scripted_llm.requests[1].messages if m["role"] == "tool"]
    assert sent == ["met at slow", "met at quick"]


async def test_calls_that_conflict_run_in_their_order(create, scripted_llm: ScriptedLLM):
    meetings = [meet(str(number), at="one place") for number in range(6)]
    scripted_llm.script(calls(*meetings), say("done"))
    conversation = create(limit=6)

    await run_to_end(conversation)

    assert answers(conversation) == [f"met at {number}" for number in range(6)]
    assert Meeting.of(conversation.spec.working_dir).most_at_once == 1


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_never_more_run_than_the_limit_allows(create, scripted_llm: ScriptedLLM, limit: int):
    scripted_llm.script(calls(*(meet(str(number)) for number in range(9))), say("done"))
    conversation = create(limit=limit)

    await run_to_end(conversation)

    assert len(answers(conversation)) == 9
    assert Meeting.of(conversation.spec.working_dir).most_at_once == limit


async def test_a_failing_call_leaves_the_others_alone(create, scripted_llm: ScriptedLLM):
    scripted_llm.script(calls(meet("a", waits_for="b"), meet("x", fails=True), meet("b")), say("done"))
    conversation = create(limit=3)

    await run_to_end(conversation)

    assert sorted(answers(conversation)) == ["met at a", "met at b"]
    (error,) = of_kind(conversation, "AgentErrorEvent")
    assert "RuntimeError: nobody came" in error["error"]


async def test_finish_waits_for_the_others_and_ends_the_turn(create, scripted_llm: ScriptedLLM):
    scripted_llm.script(calls(meet("a"), meet("b"), ("finish", {"message": "bye"}), meet("never")))
    conversation = create(limit=4)

    await run_to_end(conversation)

    assert answers(conversation)[-1] == "bye"
    assert len(answers(conversation)) == 3
    assert len(scripted_llm.requests) == 1


async def test_interrupting_answers_each_call_once_and_says_which_may_have_run(
    create, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(meet("a", waits_for="?"), meet("b", waits_for="?"), meet("c", at="a"), meet("done")), say("ok")
    )
    conversation = create(limit=3)
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await watch.until_event("ObservationEvent")

    await conversation.interrupt()

    errors = {e["tool_call_id"]: e["error"] for e in of_kind(conversation, "AgentErrorEvent")}
    called = [event["tool_call_id"] for event in of_kind(conversation, "ActionEvent")]
    assert ["may have run" in errors[call] for call in called[:3]] == [True, True, False]
    assert set(errors) == set(called[:3])
    assert Meeting.of(conversation.spec.working_dir).at_once == 0
    await conversation.run()
    assert conversation.status == "finished"


async def test_a_pause_lets_those_end_that_have_begun(create, scripted_llm: ScriptedLLM):
    scripted_llm.script(calls(meet("a", waits_for="?"), meet("b", at="a")), say("done"))
    conversation = create(limit=2)
    conversation.send(user("Go."))
    conversation.start()
    meeting = Meeting.of(conversation.spec.working_dir)
    await meeting.until(lambda: meeting.at_once == 1)

    conversation.pause()
    await meeting.arrive("?")
    await conversation.wait()

    assert answers(conversation) == ["met at a"]
    assert conversation.status == "paused"
    await conversation.run()
    assert answers(conversation)[1:] == ["met at b"]


async def test_after_a_crash_every_call_that_can_have_begun_may_have_run(
    create, conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(meet("a", waits_for="?"), meet("b", waits_for="?"), meet("c", at="a")), say("I see.")
    )
    conversation = create(limit=2)
    conversation.send(user("Go."))
    conversation.start()
    meeting = Meeting.of(conversation.spec.working_dir)
    await meeting.until(lambda: meeting.at_once == 2)
    await conversation.close()  # leaves the log in the state that a crash leaves

    again = conversations.reopen()
    recover(again.run_context)
    recover(again.run_context)

    errors = [event["error"] for event in of_kind(again, "AgentErrorEvent")]
    assert ["may have run" in error for error in errors] == [True, True, False]
    await again.run()
    assert again.status == "finished"


async def test_edits_of_different_files_and_looks_at_them_need_not_wait(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    edit_a = _call("file_editor", command="create", path=str(tmp_path / "a"), file_text="")
    edit_b = _call("file_editor", command="create", path=str(tmp_path / "b"), file_text="")
    view_a = _call("file_editor", command="view", path=str(tmp_path / "a"))
    view_link = _call("file_editor", command="view", path=str(tmp_path / "link"))
    view_all = _call("file_editor", command="view", path=str(tmp_path))
    command = _call("terminal", command="make")
    think = _call("think", thought="hm")
    finish = _call("finish", message="done")
    specs = [ToolSpec(name="file_editor"), ToolSpec(name="terminal")]
    tools = create_tools(specs, ToolContext(tmp_path, tmp_path))

    def may_begin(*events: ActionEvent) -> list[int]:
        return [events.index(event) for event in ready(events, tools)]

    assert may_begin(edit_a, edit_b) == [0, 1]
    assert may_begin(view_a, view_link, view_all) == [0, 1, 2]
    assert may_begin(edit_a, view_a, view_link, view_all, edit_b) == [0]
    assert may_begin(view_a, edit_a, edit_b) == [0, 2]
    assert may_begin(command, edit_a, think) == [0, 2]
    assert may_begin(edit_a, command, view_a) == [0]
    assert may_begin(view_a, think, finish) == [0, 1]


def _call(tool: str, **action: Any) -> ActionEvent:
    call = ToolCall(id=f"{tool}{action}", name=tool, arguments=json.dumps(action))
    return ActionEvent(
        action=action, tool_name=tool, tool_call_id=call.id, tool_call=call, llm_response_id="r"
    )


async def test_terminal_sessions_of_one_reply_run_together_and_clients_see_plain_actions(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    meet = "echo > {0}; until [ -e {1} ]; do sleep 0.01; done; echo met {1}"
    scripted_llm.script(
        calls(
            ("terminal", {"command": meet.format("x", "y"), "session": "a", "timeout": 20}),
            ("terminal", {"command": meet.format("y", "x"), "session": "b", "timeout": 20}),
        ),
        say("Done."),
    )
    tools = [{"name": "terminal", "params": {"sessions": 2}}]
    conversation = conversations.create(agent={"tools": tools, "tool_concurrency_limit": 2})
    conversation.send(user("Go."))

    await conversation.run()

    observations = of_kind(conversation, "ObservationEvent")
    said = {event["observation"]["content"][0]["text"] for event in observations}
    actions = of_kind(conversation, "ActionEvent")
    known = {"command", "is_input", "timeout", "reset", "kind"}
    assert said == {"met x", "met y"}
    assert [set(event["action"]) for event in actions] == [known, known]
    assert ['"session":"a"' in event["tool_call"]["arguments"] for event in actions] == [True, False]
