"""Tests of hooks: real commands that run at each event of a conversation for which a hook can be defined."""

import json
from typing import Any

import pytest

from agent_runtime.hooks.config import HookConfig
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    of_kind,
)
from tests.agent_runtime.conversation.hook_config import _is_alive, at, command, hook_events, say_to, until
from tests.support.scripted_llm import ScriptedLLM, call, calls, say


def test_a_hook_as_the_sdk_sends_it_is_understood():
    sent = {"name": None, "prompt": None, "system_prompt": None, "tools": [], "async_": True}

    [matcher] = HookConfig.model_validate(at("stop", command("true", **sent))).stop

    assert matcher.hooks[0].text == "true"
    assert matcher.hooks[0].is_async


async def test_a_hook_that_refuses_a_call_keeps_it_from_running_and_tells_the_agent_why(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="touch made"), say("I see."))
    refusing = at("pre_tool_use", command("echo 'not here' >&2; exit 2"), matcher="terminal")
    conversation = conversations.create(hook_config=refusing)

    await say_to(conversation)

    assert not (conversations.workspace / "made").exists()
    action = of_kind(conversation, "ActionEvent")[0]
    (hook,) = hook_events(conversation)
    (refusal,) = of_kind(conversation, "UserRejectObservation")
    assert hook | {"id": "", "timestamp": "", "parent_id": ""} == {
        "id": "",
        "timestamp": "",
        "parent_id": "",
        "source": "hook",
        "hook_event_type": "PreToolUse",
        "hook_command": "echo 'not here' >&2; exit 2",
        "tool_name": "terminal",
        "success": False,
        "blocked": True,
        "exit_code": 2,
        "stdout": "",
        "stderr": "not here\n",
        "reason": "not here",
        "action_id": action["id"],
        "hook_input": {"tool_name": "terminal", "tool_input": action["action"]},
        "kind": "HookExecutionEvent",
    }
    assert (refusal["rejection_source"], refusal["rejection_reason"]) == ("hook", "not here")
    assert scripted_llm.requests[1].last_text == "Action rejected: not here"
    assert conversation.info().blocked_actions == {action["id"]: "not here"}


async def test_a_hook_reads_what_it_is_about_and_gets_the_environment_of_a_command_of_the_agent(
    conversations: Conversations, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOME_KEY", "canary")
    scripted_llm.script(call("terminal", command="echo hi"), say("Done."))
    conversation = conversations.create(
        hook_config={
            "hooks": {
                "PreToolUse": [
                    {"matcher": "Bash", "hooks": [command("cat > before.json; env > before.env")]}
                ],
                "PostToolUse": [{"matcher": "/term.*/", "hooks": [command("cat > after.json")]}],
            }
        }
    )

    await say_to(conversation)

    before = json.loads((conversations.workspace / "before.json").read_text())
    after = json.loads((conversations.workspace / "after.json").read_text())
    environment = (conversations.workspace / "before.env").read_text()
    assert before["event_type"] == before["hook_event_name"] == "PreToolUse"
    assert before["tool_name"] == "terminal"
    assert before["tool_input"]["command"] == "echo hi"
    assert before["working_dir"] == before["cwd"] == str(conversations.workspace)
    assert before["session_id"] == str(conversation.id)
    assert after["tool_response"]["exit_code"] == 0
    assert f"OPENHANDS_PROJECT_DIR={conversations.workspace}" in environment
    assert "OPENHANDS_TOOL_NAME=terminal" in environment
    assert "canary" not in environment


@pytest.mark.parametrize(
    ("matcher", "is_run"),
    [
        ("terminal", True),
        ("*", True),
        ("", True),
        ("file_editor|terminal", True),
        ("Bash", True),
        ("term", False),
        ("Edit|Write", False),
    ],
)
async def test_a_matcher_names_the_tools_a_hook_is_for(
    conversations: Conversations, scripted_llm: ScriptedLLM, matcher: str, is_run: bool
):
    scripted_llm.script(call("terminal", command="true"), say("Done."))
    conversation = conversations.create(hook_config=at("pre_tool_use", command("true"), matcher=matcher))

    await say_to(conversation)

    assert bool(hook_events(conversation)) is is_run


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "deny", "reason": "no"},
        {"decision": "block", "reason": "no"},
        {"continue": False, "stopReason": "no"},
        {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}},
    ],
)
async def test_a_refusal_may_be_written_in_json(
    conversations: Conversations, scripted_llm: ScriptedLLM, answer: dict[str, Any]
):
    scripted_llm.script(call("terminal", command="touch made"), say("I see."))
    hooks = at("pre_tool_use", command(f"echo '{json.dumps(answer)}'"))
    conversation = conversations.create(hook_config=hooks)

    await say_to(conversation)

    assert of_kind(conversation, "UserRejectObservation")[0]["rejection_reason"] == "no"


@pytest.mark.parametrize("line", ["exit 1", "nosuchcommand", 'echo \'{"decision": "allow"}\'', "echo plain"])
async def test_a_hook_that_fails_or_allows_refuses_nothing(
    conversations: Conversations, scripted_llm: ScriptedLLM, line: str
):
    scripted_llm.script(call("terminal", command="touch made"), say("Done."))
    conversation = conversations.create(hook_config=at("pre_tool_use", command(line)))

    await say_to(conversation)

    assert (conversations.workspace / "made").exists()
    assert hook_events(conversation)[0]["blocked"] is False
    assert hook_events(conversation)[0]["success"] is line.startswith("echo")


async def test_a_hook_that_takes_too_long_is_ended_with_all_it_has_started(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="touch made"), say("Done."))
    lingering = command("sleep 600 & echo $! > pid", timeout=3)
    conversation = conversations.create(hook_config=at("pre_tool_use", lingering))

    await say_to(conversation)

    pid = int((conversations.workspace / "pid").read_text())
    assert "did not end within 3 seconds" in hook_events(conversation)[0]["error"]
    assert (conversations.workspace / "made").exists()
    await until(lambda: not _is_alive(pid))


async def test_a_hook_may_print_too_much_and_need_not_read_its_input(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(calls(("think", {"thought": "x" * 1_000_000}), piece_chars=100_000), say("Done."))
    chatty = command("exec <&-; head -c 5000000 /dev/zero | tr '\\0' y; exit 1")
    conversation = conversations.create(hook_config=at("pre_tool_use", chatty))

    await say_to(conversation)

    (hook,) = hook_events(conversation)
    assert hook["exit_code"] == 1
    assert 1000 < len(hook["stdout"]) < 20_000
    assert conversation.status == "finished"


async def test_what_a_hook_says_of_a_result_reaches_the_agent(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(("terminal", {"command": "echo 1"}), ("terminal", {"command": "echo 2"})), say("Done.")
    )
    context = json.dumps({"additionalContext": "Remember the style guide."})
    refusal = command("echo 'lint failed' >&2; exit 2")
    conversation = conversations.create(hook_config=at("PostToolUse", command(f"echo '{context}'"), refusal))

    await say_to(conversation)

    prompt = "\n".join(str(message["content"]) for message in scripted_llm.requests[1].messages)
    assert prompt.count("Remember the style guide.") == 2
    assert prompt.count("lint failed") == 2
    assert len(of_kind(conversation, "ObservationEvent")) == 2
