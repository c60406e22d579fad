"""Tests of hooks for prompts, for the start and the end of a session, and for the end of a run."""

import json
from typing import Any

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import HookConfigError
from agent_runtime.conversation.run.hook_dispatch import MAX_STOP_DENIALS
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    Watch,
    kinds_of,
    of_kind,
    statuses_of,
    user,
)
from tests.agent_runtime.conversation.hook_config import _is_alive, at, command, hook_events, say_to, until
from tests.support.scripted_llm import ScriptedLLM, call, hold, say


def told(conversation: ConversationEngine) -> list[str]:
    messages = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "environment"]
    return [message["llm_message"]["content"][0]["text"] for message in messages]


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


async def test_a_run_does_not_wait_for_an_asynchronous_hook_which_ends_with_the_conversation(
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
