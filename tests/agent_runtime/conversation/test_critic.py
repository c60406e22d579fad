"""A critic judges an agent's work before the user sees it, and can send the agent back to work."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent_runtime.conversation.conversation import ConversationEngine
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    Watch,
    events_of,
    of_kind,
    statuses_of,
    user,
)
from tests.support.scripted_llm import ScriptedLLM, Turn, call, fail, hang, say


def opinion(score: float, feedback: str = "Fine.") -> Turn:
    return say(json.dumps({"score": score, "feedback": feedback}))


def critic(kind: str = "LLMCritic", **fields: Any) -> dict[str, Any]:
    return {"critic": {"kind": kind, **fields}}


def refining(**limits: Any) -> dict[str, Any]:
    return critic(iterative_refinement=limits)


def results_of(conversation: ConversationEngine) -> list[dict[str, Any]]:
    return [event["critic_result"] for event in events_of(conversation) if "critic_result" in event]


def make_repository(path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(path)], check=True)


async def say_to(conversation: ConversationEngine, text: str = "Go.") -> None:
    conversation.send(user(text))
    await conversation.run()


@pytest.mark.parametrize(
    ("last", "kind"),
    [(call("finish", message="All done."), "ActionEvent"), (say("All done."), "MessageEvent")],
)
async def test_the_end_of_a_turn_is_judged_from_the_record_of_the_work(
    conversations: Conversations, scripted_llm: ScriptedLLM, last: Turn, kind: str
):
    scripted_llm.script(call("terminal", command="echo evi''dence"), last, opinion(0.8, "Good."))
    conversation = conversations.create(agent=critic(criteria="Tests are green."))

    await say_to(conversation, "Show me.")

    asked = scripted_llm.requests[-1]
    assert asked.tool_names == []
    assert all(
        text in asked.last_text for text in ("Show me.", "\nevidence", "All done.", "Tests are green.")
    )
    assert of_kind(conversation, kind)[-1]["critic_result"] == {"score": 0.8, "message": "Good."}
    assert len(results_of(conversation)) == 1
    assert conversation.status == "finished"
    usage = conversation.state.stats["usage_to_metrics"]["critic"]
    assert usage["accumulated_token_usage"]["prompt_tokens"] == 100


async def test_every_reply_is_judged_if_that_is_wanted(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="true"), opinion(0.5), say("Done."), opinion(0.9))
    conversation = conversations.create(agent=critic(mode="all_actions"))

    await say_to(conversation)

    assert [result["score"] for result in results_of(conversation)] == [0.5, 0.9]


async def test_a_low_score_sends_the_agent_back_with_what_the_critic_misses(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        call("finish", message="Done."),
        opinion(0.3, "There is no test."),
        call("finish", message="Tested."),
        opinion(0.7),
    )
    conversation = conversations.create(agent=refining(success_threshold=0.7))

    await say_to(conversation)

    assert "There is no test." in scripted_llm.requests[2].last_text
    assert conversation.state.final_response == "Tested."
    assert statuses_of(conversation) == ["running", "finished"]


async def test_the_critic_sends_the_agent_back_a_limited_number_of_times_for_each_message(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("1"), opinion(0), say("2"), opinion(0), say("3"), opinion(0))
    conversation = conversations.create(agent=refining(max_iterations=2))

    await say_to(conversation)
    assert conversation.status == "finished"
    assert len(results_of(conversation)) == 3

    scripted_llm.script(say("4"), opinion(0), say("5"), opinion(1))
    await say_to(conversation, "And again.")
    assert len(results_of(conversation)) == 5


async def test_a_critic_that_cannot_be_asked_does_not_cost_the_reply(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Done."), fail(401))
    conversation = conversations.create(agent=refining())

    await say_to(conversation)

    notices = [event["value"] for event in events_of(conversation) if event.get("key") == "agent_state"]
    assert notices[0]["critic_failure"]["code"] == "LLMAuthenticationError"
    assert conversation.state.final_response == "Done."
    assert conversation.status == "finished"


async def test_a_reply_that_is_interrupted_during_the_review_ends_for_its_followers(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Done."), hang())
    conversation = conversations.create(agent=critic())
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(2)

    await conversation.interrupt()

    assert [frame["reason"] for frame in watch.of_type("item_aborted")] == ["cancelled"]
    assert conversation.status == "paused"


async def test_a_critic_of_changes_looks_into_the_repository(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    make_repository(conversations.workspace)
    scripted_llm.script(
        call("finish", message="Nothing to do."),
        call("terminal", command="echo 1 > made"),
        say("Made it."),
        call("finish", message="Made it."),
    )
    limits = {"iterative_refinement": {}}
    conversation = conversations.create(agent=critic("AgentFinishedCritic", **limits))

    await say_to(conversation)

    assert [(one["score"], one["message"]) for one in results_of(conversation)] == [
        (0, "Nothing in the repository has changed."),
        (0, "The agent has not called `finish`."),
        (1, "Changed files: 1."),
    ]


async def test_no_repository_is_no_success(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    conversation = conversations.create(agent=critic("EmptyPatchCritic"))

    await say_to(conversation)

    assert results_of(conversation)[0]["score"] == 0


@pytest.mark.parametrize("kind", ["APIBasedCritic", "NoSuchCritic"])
def test_a_critic_that_does_not_exist_here_is_refused(conversations: Conversations, kind: str):
    with pytest.raises(ValidationError, match=kind):
        conversations.create(agent=critic(kind))
