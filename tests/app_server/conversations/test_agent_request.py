"""Tests of the request that the app server sends to the agent server for a new conversation."""

from collections.abc import Collection
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agent_runtime.agent.agent import Agent
from agent_runtime.tools.delegation import Delegation
from agent_runtime.tools.registry import create_tools
from agent_runtime.tools.tool import ToolContext
from agent_runtime.wire import SendMessageRequest, StartConversationRequest
from app_server.conversations.schemas import StartRequest
from app_server.conversations.start.agent_request import build
from app_server.settings.models import LLMProfile
from tests.support.sub_agents import NoSubAgents


def requested(
    model: str = "vendor/model", *, usable_tools: Collection[str] = frozenset(), **fields: Any
) -> StartConversationRequest:
    return build(
        StartRequest(**fields),
        conversation_id=uuid4(),
        sandbox_id=uuid4(),
        profile=LLMProfile(name="mine", model=model),
        inner_url="http://inner/",
        model_proof="proof",
        silence_seconds=600,
        working_dir="/w",
        usable_tools=usable_tools,
    )


def tool_names(model: str, directory: Path) -> list[str]:
    agent = Agent.model_validate(requested(model).agent)
    delegation = Delegation(tasks=NoSubAgents())
    return list(create_tools(agent.tools, ToolContext(directory, directory, delegation=delegation)))


def test_the_agent_has_the_tools_for_the_work(tmp_path: Path):
    assert tool_names("anthropic/claude-sonnet-4-5", tmp_path) == [
        "terminal", "file_editor", "grep", "glob", "view_image", "task_tracker", "task", "finish", "think",
    ]  # fmt: skip


def test_a_notebook_is_given_where_there_is_one():
    names = [
        tool["name"] for tool in requested(usable_tools={"terminal", "execute_ipython_cell"}).agent["tools"]
    ]

    assert names.count("execute_ipython_cell") == 1
    assert "execute_ipython_cell" not in [tool["name"] for tool in requested().agent["tools"]]


@pytest.mark.parametrize(
    ("model", "is_given"),
    [
        ("openai/gpt-5.2", True),
        ("gpt-4.1", True),
        ("openai/o4-mini", True),
        ("openrouter/openai/gpt-5-codex", True),
        ("openai/gpt-4o", False),
        ("deepseek/deepseek-chat", False),
        ("recorded/fix-failing-test", False),
    ],
)
def test_models_that_know_patches_may_send_them(tmp_path: Path, model: str, is_given: bool):
    assert ("apply_patch" in tool_names(model, tmp_path)) is is_given


def test_the_browser_is_asked_for_only_where_there_is_one():
    def tools(*usable: str) -> list[str]:
        request = build(
            StartRequest(),
            conversation_id=uuid4(),
            sandbox_id=uuid4(),
            profile=LLMProfile(name="mine", model="vendor/model"),
            inner_url="http://inner/",
            model_proof="proof",
            silence_seconds=600,
            working_dir="/w",
            usable_tools=usable,
        )
        return [tool["name"] for tool in request.agent["tools"]]

    assert "browser_tool_set" in tools("terminal", "browser_tool_set")
    assert "browser_tool_set" not in tools("terminal")


def test_an_agent_asks_its_user_before_it_gives_up_unless_there_is_no_user():
    assert requested().ask_when_stuck
    assert not requested(ask_when_stuck=False).ask_when_stuck
    assert not requested().expects_finish
    assert requested(ask_when_stuck=False).expects_finish
    objective = SendMessageRequest.of("All tests pass.")
    assert requested(goal={}, initial_message=objective.model_dump(exclude={"sender"})).expects_finish


@pytest.mark.parametrize(("model", "is_asked"), [("vendor/model", True), ("recorded/demo", False)])
def test_a_recording_is_not_asked_for_a_title(model: str, is_asked: bool) -> None:
    assert requested(model).autotitle is is_asked
