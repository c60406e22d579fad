"""If a conversation has a goal, the agent is sent back to work until a judge (another model call) finds the
goal reached.
"""

import json
from typing import Any

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import AlreadyRunningError, NoGoalToResumeError
from agent_runtime.conversation.run.goal_commands import pursue, rest, resume
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    events_of,
    of_kind,
    statuses_of,
    user,
)
from tests.support.scripted_llm import ScriptedLLM, Turn, call, fail, hold, say, text_of


def met(score: float = 1) -> Turn:
    return say(json.dumps({"complete": True, "score": score, "missing": ""}))


def unmet(missing: str, score: float = 0.2) -> Turn:
    return say(json.dumps({"complete": False, "score": score, "missing": missing}))


def goals_of(conversation: ConversationEngine) -> list[dict[str, Any]]:
    return [event["value"] for event in events_of(conversation) if event.get("key") == "goal"]


async def reach(conversation: ConversationEngine, objective: str, *, max_iterations: int = 10) -> None:
    pursue(conversation, objective, max_iterations=max_iterations)
    await conversation.wait()


async def test_the_agent_is_sent_back_with_what_is_missing_until_the_judge_is_content(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        say("Done, I believe."),
        unmet("The tests have not been run."),
        call("terminal", command="echo 3 passed"),
        call("finish", message="All tests pass."),
        met(),
    )
    conversation = conversations.create()

    await reach(conversation, "Make the tests pass.")

    assert conversation.status == "finished"
    sent_back = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "environment"]
    assert len(sent_back) == 1
    assert "The tests have not been run." in sent_back[0]["llm_message"]["content"][0]["text"]
    assert "The tests have not been run." in scripted_llm.requests[2].last_text
    assert [(g["status"], g["active"], g["iteration"]) for g in goals_of(conversation)] == [
        ("running", True, 0),
        ("running", True, 1),
        ("complete", False, 2),
    ]
    assert goals_of(conversation)[1]["verdict"] == {
        "score": 0.2,
        "complete": False,
        "missing": "The tests have not been run.",
    }
    assert conversation.info().agent_state["goal"]["status"] == "complete"
    assert statuses_of(conversation) == ["running", "finished"]


async def test_the_judge_reads_the_record_has_no_tools_and_is_counted_apart(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="echo evi''dence"), say("Done."), met())
    conversation = conversations.create()

    await reach(conversation, "Show evidence.")

    asked = scripted_llm.requests[-1]
    assert asked.tool_names == []
    assert len(asked.messages) == 1
    assert "Show evidence." in asked.last_text
    assert "\nevidence" in asked.last_text
    assert "You are a software engineer" not in asked.last_text
    usage = conversation.state.stats["usage_to_metrics"]
    assert usage["goal"]["accumulated_token_usage"]["prompt_tokens"] == 100
    assert usage["agent"]["accumulated_token_usage"]["prompt_tokens"] == 200


async def test_a_goal_ends_after_the_allowed_number_of_audits(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("One."), unmet("More."), say("Two."), unmet("Still more."))
    conversation = conversations.create()

    await reach(conversation, "Never enough.", max_iterations=2)

    assert conversation.status == "finished"
    last = goals_of(conversation)[-1]
    assert (last["status"], last["active"], last["iteration"]) == ("capped", False, 2)
    assert last["verdict"]["missing"] == "Still more."
    with pytest.raises(NoGoalToResumeError):
        resume(conversation)


async def test_a_broken_verdict_is_repaired_or_asked_for_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        say("Done."),
        say("I think it is fine."),
        say('{"complete": true, "score": 90}'),
        say("Here it is:\n```json\n{'complete': True, 'score': 0.9,}\n```"),
    )
    conversation = conversations.create()

    await reach(conversation, "Do it.")

    assert goals_of(conversation)[-1]["verdict"] == {"score": 0.9, "complete": True, "missing": ""}
    assert "no JSON object" in scripted_llm.requests[2].last_text
    assert "score" in scripted_llm.requests[3].last_text
    usage = conversation.state.stats["usage_to_metrics"]["goal"]["accumulated_token_usage"]
    assert usage["prompt_tokens"] == 300


async def test_a_judge_without_a_usable_verdict_ends_the_run_with_an_error_and_the_goal_can_be_resumed(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Done."), say("Hm."), say("Well."), say("Who knows."))
    conversation = conversations.create()
    await reach(conversation, "Do it.")

    failure = of_kind(conversation, "ConversationErrorEvent")[0]
    assert conversation.status == "error"
    assert failure["code"] == "LLMMalformedReplyError"
    assert "no verdict" in failure["detail"]
    assert goals_of(conversation)[-1]["status"] == "interrupted"

    scripted_llm.script(say("Looked again, done."), met())
    resume(conversation)
    await conversation.wait()

    assert conversation.status == "finished"
    assert goals_of(conversation)[-1]["status"] == "complete"
    assert "Do it." in scripted_llm.requests[4].last_text


async def test_a_judge_that_cannot_be_asked_is_reported(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Done."), fail(401))
    conversation = conversations.create()

    await reach(conversation, "Do it.")

    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "LLMAuthenticationError"
    assert goals_of(conversation)[-1] | {"verdict": None} == {
        "active": False,
        "status": "interrupted",
        "iteration": 0,
        "max_iterations": 10,
        "objective": "Do it.",
        "verdict": None,
    }


async def test_a_record_that_does_not_fit_is_read_in_extracts(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    too_long = fail(400, error="This model's maximum context length is 8192 tokens.")
    scripted_llm.script(
        *(call("terminal", command=f"seq {n} 20000") for n in range(12)),
        say("Done."),
        too_long,
        met(),
    )
    conversation = conversations.create()

    await reach(conversation, "Count.")

    first, second = scripted_llm.requests[-2:]
    assert len(second.last_text) < len(first.last_text)
    assert "Count." in second.last_text
    assert goals_of(conversation)[-1]["status"] == "complete"


async def test_pausing_and_interrupting_stop_the_pursuit(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    judging = hold(unmet("Much."))
    scripted_llm.script(say("Done."), judging)
    conversation = conversations.create()
    pursue(conversation, "Do it.", max_iterations=5)
    await scripted_llm.wait_for_requests(2)
    conversation.pause()
    judging.release()
    await conversation.wait()

    assert conversation.status == "paused"
    assert goals_of(conversation)[-1]["status"] == "interrupted"

    scripted_llm.script(hold(say("never")))
    resume(conversation)
    await scripted_llm.wait_for_requests(3)
    await conversation.interrupt()

    assert conversation.status == "paused"
    assert goals_of(conversation)[-1] == goals_of(conversation)[-2] | {
        "active": False,
        "status": "interrupted",
    }


async def test_a_goal_that_is_stopped_while_the_judge_thinks_is_not_audited(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    judging = hold(unmet("Much."))
    scripted_llm.script(say("Done."), judging)
    conversation = conversations.create()
    pursue(conversation, "Do it.", max_iterations=5)
    await scripted_llm.wait_for_requests(2)

    rest(conversation)
    judging.release()
    await conversation.wait()

    assert conversation.status == "finished"
    assert len(scripted_llm.requests) == 2
    assert [goal["status"] for goal in goals_of(conversation)] == ["running", "interrupted"]


async def test_a_message_that_lands_while_the_judge_thinks_is_answered(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    judging = hold(met())
    scripted_llm.script(say("Done."), judging, say("You are welcome."))
    conversation = conversations.create()
    pursue(conversation, "Do it.", max_iterations=5)
    await scripted_llm.wait_for_requests(2)

    conversation.send(user("Thank you."))
    judging.release()
    await conversation.wait()

    assert conversation.status == "finished"
    assert conversation.state.final_response == "You are welcome."


async def test_a_goal_is_not_set_while_a_run_is_going_on(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(hold(say("never")))
    conversation = conversations.create()
    conversation.send(user("Go."))
    conversation.start()

    with pytest.raises(AlreadyRunningError):
        pursue(conversation, "Do it.", max_iterations=5)
    with pytest.raises(AlreadyRunningError):
        resume(conversation)


async def test_the_budget_of_the_model_holds_for_the_judge_as_well(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    prices = {"input_cost_per_token": 0.01, "output_cost_per_token": 0, "max_budget_per_task": 1.5}
    scripted_llm.script(say("One."), unmet("More."), say("never asked"))
    conversation = conversations.create(llm=prices)

    await reach(conversation, "Do it.")

    assert conversation.status == "paused"
    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "MaxBudgetReached"
    assert goals_of(conversation)[-1]["status"] == "interrupted"
    assert len(scripted_llm.requests) == 2


async def test_a_stuck_agent_ends_the_pursuit(conversations: Conversations, scripted_llm: ScriptedLLM):
    def answer(request: Any) -> Turn:
        is_judge = not request.tool_names
        return unmet("Everything.") if is_judge else say("I talk.")

    scripted_llm.fallback = answer
    conversation = conversations.create()

    await reach(conversation, "Do it.", max_iterations=50)

    assert conversation.status == "stuck"
    assert goals_of(conversation)[-1]["status"] == "interrupted"


async def test_an_agent_without_a_goal_is_never_audited(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Hello."))
    conversation = conversations.create()
    conversation.send(user("Hi."))

    await conversation.run()

    assert len(scripted_llm.requests) == 1
    assert text_of(scripted_llm.requests[0].messages[-1]) == "Hi."
    assert conversation.info().agent_state == {}
