"""Tests of tools that a client defines: the agent calls such a tool, and the client carries out the call."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from agent_runtime.conversation.approval.client_tool_answers import answer_client_call
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ClientCallNotWaitingError
from agent_runtime.conversation.run.recovery import recover
from agent_runtime.events.content import ImageContent, TextContent
from agent_runtime.tools.registry import ToolNotFoundError
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, say

ASK = {
    "name": "ask_user",
    "description": "Shows a question to the person at the screen.",
    "parameters": {
        "type": "object",
        "properties": {"question": {"type": "string"}, "choices": {"type": "array", "maxItems": 2}},
        "required": ["question"],
    },
}


async def test_a_call_is_an_event_for_the_client_and_answered_at_once(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("ask_user", question="Red?", choices=["yes", "no"]), say("I asked."))
    conversation = conversations.create(client_tools=[ASK])
    conversation.send(user("Ask me."))

    await conversation.run()

    tool = next(t for t in scripted_llm.requests[0].body["tools"] if t["function"]["name"] == "ask_user")
    assert tool["function"]["parameters"]["properties"]["choices"] == {"type": "array", "maxItems": 2}
    [action] = of_kind(conversation, "ActionEvent")
    assert action["action"] == {
        "question": "Red?",
        "choices": ["yes", "no"],
        "kind": "ClientAction_ask_user",
    }
    [observation] = of_kind(conversation, "ObservationEvent")
    assert observation["observation"]["kind"] == "ClientToolObservation"
    assert conversation.info().client_tools == [ASK]


WAITING = {**ASK, "awaits_answer": True}


async def called(conversation: ConversationEngine) -> str:
    """Waits until a call waits for its client, and returns the id of this call."""
    async with asyncio.timeout(60):
        while not conversation.state.pending:  # noqa: ASYNC110 (the log tells nobody here)
            await asyncio.sleep(0.01)
    return conversation.state.pending[0].id


def results(conversation: ConversationEngine) -> list[dict[str, Any]]:
    return [event["observation"] for event in of_kind(conversation, "ObservationEvent")]


async def test_the_clients_answer_is_the_result_of_the_call(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("ask_user", question="Red?"), say("Red it is."))
    conversation = conversations.create(client_tools=[WAITING])
    conversation.send(user("Ask me."))
    conversation.start()

    action_id = await called(conversation)
    pixel = ImageContent(image_urls=["data:image/png;base64,AA=="])
    answer_client_call(conversation, action_id, [TextContent(text="Yes, red."), pixel])
    await conversation.wait()

    [result] = results(conversation)
    said, drawn = result["content"]
    assert (said["text"], drawn["image_urls"]) == ("Yes, red.", pixel.image_urls)
    assert (result["kind"], result["is_error"]) == ("ClientToolObservation", False)
    assert conversation.status == "finished"
    with pytest.raises(ClientCallNotWaitingError):
        answer_client_call(conversation, action_id, [TextContent(text="No.")])


async def test_a_client_that_does_not_answer_is_not_waited_for_longer_than_it_may_take(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("ask_user", question="Red?"), say("Nobody there."))
    conversation = conversations.create(client_tools=[{**WAITING, "answer_timeout_seconds": 0.2}])
    conversation.send(user("Ask me."))

    await conversation.run()

    [result] = results(conversation)
    assert result["is_error"] is True
    assert "did not answer within 0.2 seconds" in result["content"][0]["text"]


@pytest.mark.parametrize("comes", ["before the run goes on", "afterwards"])
async def test_a_call_waits_on_over_a_restart_and_its_answer_counts(
    conversations: Conversations, scripted_llm: ScriptedLLM, comes: str
):
    scripted_llm.script(call("ask_user", question="Red?"), say("Red it is."))
    conversation = conversations.create(client_tools=[WAITING])
    conversation.send(user("Ask me."))
    conversation.start()
    action_id = await called(conversation)
    await conversation.close()

    again = conversations.reopen()
    recover(again.run_context)
    answer = [TextContent(text="Yes, red.")]
    if comes == "afterwards":
        again.start()
        await asyncio.sleep(0)
        answer_client_call(again, action_id, answer)
        await again.wait()
    else:
        answer_client_call(again, action_id, answer)
        await again.run()

    assert results(again)[0]["content"][0]["text"] == "Yes, red."
    assert "Yes, red." in scripted_llm.requests[-1].last_text
    assert of_kind(again, "AgentErrorEvent") == []


async def test_an_interruption_ends_the_waiting(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("ask_user", question="Red?"))
    conversation = conversations.create(client_tools=[WAITING])
    conversation.send(user("Ask me."))
    conversation.start()
    action_id = await called(conversation)

    await conversation.interrupt()

    assert "Interrupted by the user" in of_kind(conversation, "AgentErrorEvent")[0]["error"]
    with pytest.raises(ClientCallNotWaitingError):
        answer_client_call(conversation, action_id, [TextContent(text="Yes.")])


async def test_a_call_that_is_not_approved_accepts_no_answer(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("ask_user", question="Red?"))
    conversation = conversations.create(client_tools=[WAITING], confirmation_policy={"kind": "AlwaysConfirm"})
    conversation.send(user("Ask me."))
    await conversation.run()

    with pytest.raises(ClientCallNotWaitingError):
        answer_client_call(conversation, conversation.state.pending[0].id, [TextContent(text="Yes.")])


async def test_the_system_prompt_says_of_it_what_clients_need_to_read_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create(client_tools=[ASK])
    conversation.send(user("Ask me."))

    [prompt] = of_kind(conversation, "SystemPromptEvent")
    [tool] = [tool for tool in prompt["tools"] if tool["kind"] == "ClientTool"]
    assert tool["client_tool_name"] == "ask_user"
    assert tool["input_schema"] == ASK["parameters"]


async def test_arguments_are_held_against_the_clients_schema(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("ask_user", question="Red?", choices=[1, 2, 3]), say("sorry"))
    conversation = conversations.create(client_tools=[ASK])
    conversation.send(user("Ask me."))

    await conversation.run()

    [error] = of_kind(conversation, "AgentErrorEvent")
    assert '`choices` must satisfy {"maxItems":2}' in error["error"]


@pytest.mark.parametrize(
    ("tools", "error"),
    [
        ([{"name": "no description"}], ValidationError),
        ([{**ASK, "name": "terminal"}], ToolNotFoundError),
        ([ASK, ASK], ToolNotFoundError),
    ],
)
async def test_bad_client_tools_leave_no_conversation_behind(
    conversations: Conversations, tools: list[Any], error: type[Exception]
):
    with pytest.raises(error):
        conversations.create(client_tools=tools)

    conversations.create(client_tools=[ASK])


async def test_bad_servers_leave_no_conversation_behind(conversations: Conversations):
    with pytest.raises(ValidationError):
        conversations.create(agent={"mcp_config": {"nothing": {}}})

    conversations.create()
