"""Tests of MCP servers that ask the user a question during a tool call."""

import asyncio
import json
import sys
from typing import Any

import pytest

from agent_runtime.conversation.errors import McpAnswerInvalidError, McpQuestionClosedError
from agent_runtime.tools.mcp.questions import ElicitationResponse
from tests.agent_runtime.conversation.conftest import Conversations, Watch, events_of, of_kind, user
from tests.support.mcp_processes import ROOT
from tests.support.scripted_llm import ScriptedLLM, call, say

BOOK = call("book", harbour="Oslo")


@pytest.fixture(params=["2025-06-18", "2026-07-28"])
def harbour(request: pytest.FixtureRequest) -> dict[str, Any]:
    return asking(request.param)


def asking(revision: str, **fields: Any) -> dict[str, Any]:
    args = ["-m", "tests.support.mcp_asking_server", revision]
    return {"harbour": {"command": sys.executable, "args": args, "cwd": str(ROOT), **fields}}


def questions_of(conversation: Any) -> list[dict[str, Any]]:
    """Returns the questions of MCP servers that are open according to the log."""
    states = [event["value"] for event in events_of(conversation) if event.get("key") == "agent_state"]
    return next((state["mcp_questions"] for state in reversed(states) if "mcp_questions" in state), [])


async def asked(conversation: Any, watch: Watch) -> dict[str, Any]:
    """Waits until an MCP server asks a question, and returns this question."""
    await watch.until(lambda frame: bool(questions_of(conversation)))
    [question] = questions_of(conversation)
    return question


def told(conversation: Any) -> dict[str, Any]:
    """Returns the user's answer as the MCP server received it, from the result of the tool call."""
    [observation] = of_kind(conversation, "ObservationEvent")
    answer: dict[str, Any] = json.loads(observation["observation"]["content"][-1]["text"])
    return answer


async def test_a_form_is_answered_with_its_defaults_for_what_is_left_out(
    conversations: Conversations, scripted_llm: ScriptedLLM, harbour: dict[str, Any]
):
    scripted_llm.script(BOOK, say("Booked."))
    conversation = conversations.create(agent={"mcp_config": harbour}, ask_when_stuck=True)
    watch = Watch(conversation)
    conversation.send(user("Book."))
    run = asyncio.create_task(conversation.run())

    question = await asked(conversation, watch)
    with pytest.raises(McpAnswerInvalidError, match="name"):
        conversation.run_context.mcp_questions.answer(
            question["id"], ElicitationResponse("accept", {"metres": 20})
        )
    conversation.run_context.mcp_questions.answer(
        question["id"], ElicitationResponse("accept", {"name": "Fram", "power": False})
    )
    await run

    assert (question["server"], question["message"]) == ("harbour", "Which ship comes to Oslo?")
    assert question["requested_schema"]["properties"]["metres"]["default"] == 12
    content = {"name": "Fram", "metres": 12, "power": False, "side": "port"}
    assert told(conversation) == {"action": "accept", "content": content}
    assert questions_of(conversation) == []
    with pytest.raises(McpQuestionClosedError):
        conversation.run_context.mcp_questions.answer(question["id"], ElicitationResponse("decline"))


async def test_a_question_can_be_declined_and_takes_no_time_of_its_call(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(BOOK, say("Then not."))
    conversation = conversations.create(
        agent={"mcp_config": asking("2025-06-18", timeout=0.5)}, ask_when_stuck=True
    )
    watch = Watch(conversation)
    conversation.send(user("Book."))
    run = asyncio.create_task(conversation.run())

    question = await asked(conversation, watch)
    done, _ = await asyncio.wait([run], timeout=1)
    conversation.run_context.mcp_questions.answer(question["id"], ElicitationResponse("decline"))
    await run

    assert not done
    assert told(conversation) == {"action": "decline"}


async def test_a_question_is_closed_with_the_run_that_it_belongs_to(
    conversations: Conversations, scripted_llm: ScriptedLLM, harbour: dict[str, Any]
):
    scripted_llm.script(BOOK)
    conversation = conversations.create(agent={"mcp_config": harbour}, ask_when_stuck=True)
    watch = Watch(conversation)
    conversation.send(user("Book."))
    run = asyncio.create_task(conversation.run())
    question = await asked(conversation, watch)

    await conversation.interrupt()
    await run
    await watch.until(lambda frame: not questions_of(conversation))

    with pytest.raises(McpQuestionClosedError):
        conversation.run_context.mcp_questions.answer(
            question["id"], ElicitationResponse("accept", {"name": "Fram"})
        )


async def test_without_a_user_a_server_is_told_that_it_cannot_ask(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(BOOK, say("I cannot."))
    conversation = conversations.create(agent={"mcp_config": asking("2025-06-18")})
    conversation.send(user("Book."))

    await conversation.run()

    [observation] = of_kind(conversation, "ObservationEvent")
    assert "the user cannot be asked" in str(observation)
    assert questions_of(conversation) == []
