"""Hooks: real commands at each point of a conversation's life."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import HookConfigError
from agent_runtime.conversation.run.hook_dispatch import MAX_STOP_DENIALS
from agent_runtime.hooks.config import HookConfig
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    Watch,
    kinds_of,
    of_kind,
    statuses_of,
    user,
)
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, calls, hold, say


def command(line: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": line, **fields}


def at(point: str, *hooks: dict[str, Any], matcher: str = "*") -> dict[str, Any]:
    return {point: [{"matcher": matcher, "hooks": list(hooks)}]}


def test_a_hook_as_the_sdk_sends_it_is_understood():
    sent = {"name": None, "prompt": None, "system_prompt": None, "tools": [], "async_": True}

    [matcher] = HookConfig.model_validate(at("stop", command("true", **sent))).stop

    assert matcher.hooks[0].text == "true"
    assert matcher.hooks[0].is_async


def hook_events(conversation: ConversationEngine) -> list[dict[str, Any]]:
    return of_kind(conversation, "HookExecutionEvent")


def told(conversation: ConversationEngine) -> list[str]:
    messages = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "environment"]
    return [message["llm_message"]["content"][0]["text"] for message in messages]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110 (neither files nor processes send events)
            await asyncio.sleep(0.01)


async def say_to(conversation: ConversationEngine, text: str = "Go.") -> None:
    conversation.send(user(text))
    await conversation.run()


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


async def test_a_hook_may_print_more_than_anybody_reads_and_need_not_read_what_it_is_told(
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


async def test_a_prompt_that_a_hook_refuses_never_reaches_a_model(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    refusing = at(
        "user_prompt_submit", command("grep -q password && { echo 'no secrets' >&2; exit 2; }; exit 0")
    )
    conversation = conversations.create(hook_config=refusing, autotitle=True)

    conversation.send(user("My password is hunter2."), message_id="first")
    await conversation.run()

    assert scripted_llm.requests == []
    assert statuses_of(conversation) == ["running", "finished"]
    assert conversation.info().blocked_messages == {"first": "no secrets"}
    assert hook_events(conversation)[0]["message_id"] == "first"

    scripted_llm.fallback = lambda _: say("Hello.")
    await say_to(conversation, "Hi.")
    reopened_view = conversation.run_context.model_input.messages()
    await conversation.close()

    assert "hunter2" not in json.dumps(scripted_llm.requests[0].body)
    assert "Hi." in scripted_llm.requests[0].last_text
    assert conversations.reopen().run_context.model_input.messages() == reopened_view


async def test_a_prompt_is_looked_at_once_and_what_the_hook_adds_is_read_with_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="true"), say("Done."))
    context = json.dumps({"hookSpecificOutput": {"additionalContext": "It is Friday."}})
    line = f"cat >> seen; echo >> seen; echo '{context}'"
    conversation = conversations.create(hook_config=at("UserPromptSubmit", command(line)))

    await say_to(conversation, "What day is it?")

    seen = [json.loads(line) for line in (conversations.workspace / "seen").read_text().splitlines()]
    assert [(one["message"], one["prompt"]) for one in seen] == [("What day is it?", "What day is it?")]
    assert scripted_llm.requests[0].last_text == "It is Friday."


async def test_a_message_that_arrives_in_mid_run_is_looked_at_as_well(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    thinking = hold(call("terminal", command="true"))
    scripted_llm.script(thinking, say("Done."))
    refusing = at("user_prompt_submit", command("grep -q secret && { echo no >&2; exit 2; }; exit 0"))
    conversation = conversations.create(hook_config=refusing)
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    conversation.send(user("the secret"), message_id="late")
    thinking.release()
    await conversation.wait()

    assert conversation.info().blocked_messages == {"late": "no"}
    assert "the secret" not in json.dumps(scripted_llm.requests[1].body)
    assert conversation.status == "finished"


async def test_a_session_starts_with_the_first_run_and_ends_with_the_conversations_stay_in_memory(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("One."), say("Two."), say("Three."))
    context = json.dumps({"additionalContext": "Use make."})
    conversation = conversations.create(
        hook_config={
            "session_start": [{"hooks": [command(f"echo start >> log; echo '{context}'")]}],
            "session_end": [{"hooks": [command("echo end >> log")]}],
        }
    )

    await say_to(conversation)
    await say_to(conversation)
    await conversation.close()
    log = (conversations.workspace / "log").read_text().split()
    reopened = conversations.reopen()
    ends = [e["hook_event_type"] for e in hook_events(reopened)]
    reopened.run_context.agent = conversation.agent
    await say_to(reopened)

    assert log == ["start", "end"]
    assert ends == ["SessionStart", "SessionEnd"]
    assert scripted_llm.requests[0].last_text == "Use make."
    assert (conversations.workspace / "log").read_text().split() == ["start", "end", "start"]


async def test_a_conversation_that_never_ran_has_no_session(conversations: Conversations):
    conversation = conversations.create(hook_config=at("session_end", command("touch ended")))

    await conversation.close()

    assert not (conversations.workspace / "ended").exists()


async def test_a_stop_hook_sends_the_agent_back_until_it_is_content(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        call("finish", message="Done."),
        call("terminal", command="touch tested"),
        call("finish", message="Tested."),
    )
    until = command("test -e tested || { echo 'Run the tests.' >&2; exit 2; }")
    conversation = conversations.create(hook_config=at("stop", until))

    await say_to(conversation)

    assert conversation.status == "finished"
    assert "Run the tests." in told(conversation)[0]
    assert "Run the tests." in scripted_llm.requests[1].last_text
    assert conversation.state.final_response == "Tested."
    assert [event["blocked"] for event in hook_events(conversation)] == [True, False]


async def test_a_stop_hook_that_is_never_content_is_overruled_and_the_user_told(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = lambda _: call("finish", message="Done.")
    conversation = conversations.create(
        hook_config=at("stop", command("echo never >&2; exit 2")), stuck_detection=False
    )

    await say_to(conversation)

    (overruled,) = of_kind(conversation, "ConversationErrorEvent")
    assert conversation.status == "finished"
    assert len(told(conversation)) == MAX_STOP_DENIALS
    assert (overruled["code"], "never" in overruled["detail"]) == ("StopHookOverruled", True)

    await say_to(conversation, "Again.")

    assert len(told(conversation)) == 2 * MAX_STOP_DENIALS


async def test_nobody_waits_for_an_asynchronous_hook_and_it_ends_with_the_conversation(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="true"), say("Done."))
    quick = command("echo quick", **{"async": True})
    slow = command("echo $$ > pid; sleep 600; exit 2", **{"async": True})
    conversation = conversations.create(hook_config=at("pre_tool_use", quick, slow))
    watch = Watch(conversation)

    await say_to(conversation)
    pid_file = conversations.workspace / "pid"
    ended = await watch.until_event("HookExecutionEvent")
    await until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    pid = int(pid_file.read_text())
    await conversation.close()

    assert conversation.status == "finished"
    assert ended["event"]["stdout"] == "quick\n"
    assert not _is_alive(pid)


async def test_a_prompt_hook_asks_the_model(conversations: Conversations, scripted_llm: ScriptedLLM):
    denial = json.dumps({"decision": "deny", "reason": "It deletes things."})
    scripted_llm.script(call("terminal", command="rm -rf build"), say(denial), say("I see."))
    hook = {"type": "prompt", "prompt": "Refuse what deletes files. $ARGUMENTS"}
    conversation = conversations.create(hook_config=at("pre_tool_use", hook))

    await say_to(conversation)

    asked = scripted_llm.requests[1]
    assert asked.tool_names == []
    assert "Refuse what deletes files. the input below" in asked.last_text
    assert "rm -rf build" in asked.last_text
    assert of_kind(conversation, "UserRejectObservation")[0]["rejection_reason"] == "It deletes things."
    assert (
        conversation.state.stats["usage_to_metrics"]["hook"]["accumulated_token_usage"]["prompt_tokens"]
        == 100
    )


async def test_a_prompt_hook_without_a_usable_answer_refuses_nothing_and_says_so(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="touch made"), say("?"), say("?"), say("?"), say("Done."))
    conversation = conversations.create(
        hook_config=at("pre_tool_use", {"type": "prompt", "prompt": "Is it good?"})
    )

    await say_to(conversation)

    assert (conversations.workspace / "made").exists()
    assert "LLMMalformedReplyError" in hook_events(conversation)[0]["error"]


@pytest.mark.parametrize(
    "config",
    [
        {"before_lunch": []},
        {"stop": [{"hooks": [{"type": "command"}]}]},
        {"stop": [{"hooks": [{"type": "agent", "command": "x"}]}]},
        {"pre_tool_use": [{"matcher": "(", "hooks": []}]},
        {"stop": [{"hooks": [{"command": "true", "timeout": 0}]}]},
    ],
)
async def test_hooks_that_cannot_be_are_refused_at_once(conversations: Conversations, config: dict[str, Any]):
    with pytest.raises(HookConfigError, match="hook_config"):
        conversations.create(hook_config=config)

    assert not (conversations.path / "conversation").exists()


async def test_without_hooks_there_is_no_trace_of_them(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="true"), say("Done."))
    conversation = conversations.create(hook_config={"stop": []})

    await say_to(conversation)

    assert conversation.run_context.hooks is None
    assert "HookExecutionEvent" not in kinds_of(conversation)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that nobody has waited for yet has ended all the same.
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
