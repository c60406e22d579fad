"""A condensation replaces old events by a summary. It keeps a long conversation within its model's context
window.
"""

import pytest

from agent_runtime.conversation.errors import NoCondenserError, NothingToCondenseError
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    events_of,
    kinds_of,
    of_kind,
    statuses_of,
    user,
)
from tests.agent_runtime.conversation.labour import (
    agent_requests,
    asks_for_summary,
    assert_pairs,
    condensing,
    texts,
    think,
    working,
)
from tests.support.scripted_llm import ScriptedLLM, call, calls, fail, hold, say


async def test_what_grows_too_long_is_summed_up_and_its_beginning_and_end_are_kept(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(12)
    conversation = conversations.create(agent=condensing(conversations, max_size=16))
    conversation.send(user("The task."))

    await conversation.run()

    condensation = of_kind(conversation, "Condensation")[0]
    after = agent_requests(scripted_llm)[-1]
    assert conversation.status == "finished"
    assert condensation["summary"].startswith("SUMMARY")
    assert condensation["summary_offset"] == 2
    assert after.messages[0]["role"] == "system"
    assert texts(after)[1] == "The task."
    assert "SUMMARY" in texts(after)[2]
    assert all(len(request.messages) <= 18 for request in agent_requests(scripted_llm))
    for request in agent_requests(scripted_llm):
        assert_pairs(request.messages)


async def test_the_log_keeps_what_the_model_no_longer_sees(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(12)
    conversation = conversations.create(agent=condensing(conversations, max_size=16))
    conversation.send(user("The task."))
    await conversation.run()

    forgotten = {
        one for event in of_kind(conversation, "Condensation") for one in event["forgotten_event_ids"]
    }

    assert forgotten <= {event["id"] for event in events_of(conversation)}
    assert len(of_kind(conversation, "ActionEvent")) == 13


async def test_the_calls_of_one_reply_are_forgotten_together(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    thoughts = tuple(("think", {"thought": str(n)}) for n in range(5))
    scripted_llm.fallback = working(6, tool_calls=calls(*thoughts).tool_calls)
    conversation = conversations.create(agent=condensing(conversations, max_size=24))
    conversation.send(user("Think."))
    await conversation.run()

    forgotten = {
        one for event in of_kind(conversation, "Condensation") for one in event["forgotten_event_ids"]
    }

    assert forgotten
    replies: dict[str, set[bool]] = {}
    for event in of_kind(conversation, "ActionEvent"):
        replies.setdefault(event["llm_response_id"], set()).add(event["id"] in forgotten)
    assert all(len(fates) == 1 for fates in replies.values())


async def test_tokens_count_too_as_the_vendor_counts_them(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(5, prompt_tokens=9_000)
    conversation = conversations.create(agent=condensing(conversations, max_tokens=8_000))
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "Condensation")


async def test_the_summarys_cost_is_counted_apart(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = working(12)
    conversation = conversations.create(agent=condensing(conversations, max_size=16))
    conversation.send(user("Go."))
    await conversation.run()

    used = conversation.info().stats["usage_to_metrics"]

    summaries = [request for request in scripted_llm.requests if asks_for_summary(request)]
    assert used["condenser"]["accumulated_token_usage"]["prompt_tokens"] == 100 * len(summaries)
    assert used["agent"]["accumulated_token_usage"]["prompt_tokens"] == 1300


@pytest.mark.parametrize(("usage_id", "counted_as"), [("summaries", "summaries"), ("agent", "condenser")])
async def test_the_summarys_cost_has_the_usage_id_it_was_given_if_that_is_its_own(
    conversations: Conversations, scripted_llm: ScriptedLLM, usage_id: str, counted_as: str
):
    scripted_llm.fallback = working(12)
    agent = condensing(conversations, max_size=16)
    agent["condenser"]["llm"]["usage_id"] = usage_id
    conversation = conversations.create(agent=agent)
    conversation.send(user("Go."))

    await conversation.run()

    assert set(conversation.info().stats["usage_to_metrics"]) == {"agent", counted_as}


async def test_earlier_summaries_go_into_the_next_one(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(24)
    conversation = conversations.create(agent=condensing(conversations, max_size=16))
    conversation.send(user("Go."))
    await conversation.run()

    first, second = [request for request in scripted_llm.requests if asks_for_summary(request)][:2]

    assert "SUMMARY after" not in first.last_text
    assert "SUMMARY after" in second.last_text
    assert sum("SUMMARY" in text for text in texts(agent_requests(scripted_llm)[-1])) == 1


async def test_a_full_context_is_condensed_and_the_model_asked_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    full = fail(400, error="This model's maximum context length is 8192 tokens.")
    scripted_llm.script(think("1"), think("2"), full, say("SUMMARY"), say("Done."))
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))

    await conversation.run()

    assert statuses_of(conversation) == ["running", "finished"]
    assert kinds_of(conversation)[-3:] == ["CondensationRequest", "Condensation", "MessageEvent"]


async def test_a_context_that_cannot_be_made_shorter_ends_the_run(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = fail(400, error="maximum context length exceeded")
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "error"
    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "LLMContextWindowError"


async def test_a_condenser_whose_own_model_is_full_is_shown_less_of_each_message(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    long_thought = "y" * 5000
    scripted_llm.script(
        think(long_thought),
        think("2"),
        say("Done."),
        fail(400, error="prompt is too long: context window"),
        say("SUMMARY"),
    )
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))
    await conversation.run()

    await conversation.condensing.request()

    whole, cut = scripted_llm.requests[-2:]
    assert long_thought in whole.last_text
    assert "characters left out" in cut.last_text
    assert of_kind(conversation, "Condensation")[0]["summary"] == "SUMMARY"


async def test_a_condensation_can_be_asked_for_at_any_time(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(think("1"), think("2"), say("Done."), say("SUMMARY"))
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))
    await conversation.run()

    await conversation.condensing.request()

    assert kinds_of(conversation)[-2:] == ["CondensationRequest", "Condensation"]
    assert conversation.status == "finished"
    assert not conversation.state.has_work


async def test_a_run_that_is_going_on_condenses_before_its_next_reply(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    held = hold(think("3"))
    scripted_llm.script(think("1"), think("2"), held, say("SUMMARY"), say("Done."))
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(3)

    await conversation.condensing.request()
    held.release()
    await conversation.wait()

    assert conversation.state.final_response == "Done."
    assert any("SUMMARY" in text for text in texts(scripted_llm.requests[-1]))


async def test_a_condensation_that_fails_is_told_and_can_be_tried_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(think("1"), think("2"), say("Done."), fail(401))
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))
    await conversation.run()
    await conversation.condensing.request()
    status_after_failure = conversation.status

    scripted_llm.script(say("SUMMARY"))
    await conversation.condensing.request()

    assert status_after_failure == "error"
    assert of_kind(conversation, "Condensation")[0]["summary"] == "SUMMARY"


async def test_without_a_condenser_or_anything_to_forget_nothing_is_condensed(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    plain = conversations.create()
    with pytest.raises(NoCondenserError):
        await plain.condensing.request()
    await plain.delete()

    short = conversations.create(agent=condensing(conversations))
    with pytest.raises(NothingToCondenseError):
        await short.condensing.request()

    assert scripted_llm.requests == []


async def test_a_pipeline_condenses_with_the_first_that_can(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(12)
    patient, inner = (condensing(conversations, max_size=size)["condenser"] for size in (1_000, 16))
    condensers = [{"kind": "NoOpCondenser"}, patient, inner]
    pipeline = {"kind": "PipelineCondenser", "condensers": condensers}
    conversation = conversations.create(agent={"condenser": pipeline})
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "Condensation")


async def test_the_last_order_the_plan_and_the_recent_files_stay_word_for_word(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    seen = conversations.workspace / "seen.py"
    tasks = [{"title": "Repair the parser", "status": "in_progress"}]
    scripted_llm.script(
        say("Hello."),
        call("file_editor", command="create", path=str(seen), file_text="x = 1"),
        call("task_tracker", command="plan", task_list=tasks),
    )
    scripted_llm.fallback = working(12)
    conversation = conversations.create(
        tools=["file_editor", "task_tracker"], agent=condensing(conversations, max_size=12, keep_first=0)
    )
    for order in ("Good morning.", "Repair it in Esperanto."):
        conversation.send(user(order))
        await conversation.run()

    assert len(of_kind(conversation, "Condensation")) > 1
    last = agent_requests(scripted_llm)[-1]
    assert last.messages[0]["role"] == "system"
    (summary,) = [text for text in texts(last) if "SUMMARY" in text]
    assert "Repair it in Esperanto." in summary
    assert "- in_progress: Repair the parser" in summary
    assert f"- {seen}" in summary
    assert "Good morning." not in summary


async def test_the_summary_is_asked_for_where_the_vendor_has_the_prompt_in_its_cache(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    asked = []

    def answer(request):
        if "Write the notes" in request.last_text:
            asked.append(request)
            return say("NOTES")
        return think("x" * 200) if len(scripted_llm.requests) < 12 else say("Done.")

    scripted_llm.fallback = answer
    agent = condensing(conversations, max_size=12)
    agent["condenser"]["llm"]["model"] = "openai/scripted"
    conversation = conversations.create(agent=agent)
    conversation.send(user("Work."))
    await conversation.run()

    request = asked[0]
    before = scripted_llm.requests[scripted_llm.requests.index(request) - 1]
    assert request.body["tools"] == before.body["tools"]
    assert request.messages[: len(before.messages)] == before.messages
    assert of_kind(conversation, "Condensation")[0]["summary"] == "NOTES"
    assert conversation.state.stats["usage_to_metrics"]["condenser"]["accumulated_token_usage"]


async def test_a_model_that_calls_tools_instead_is_asked_in_the_other_way(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    # The text beside a tool call must not be taken for the notes that the condenser asked for.
    call_instead = calls(("think", {"thought": "not yet"}), thought="I will run the tests now.")

    def answer(request):
        if "Write the notes" in request.last_text:
            return call_instead if request.body.get("tools") else say("NOTES")
        return think("x" * 200) if len(scripted_llm.requests) < 12 else say("Done.")

    scripted_llm.fallback = answer
    agent = condensing(conversations, max_size=12)
    agent["condenser"]["llm"]["model"] = "openai/scripted"
    conversation = conversations.create(agent=agent)
    conversation.send(user("Work."))
    await conversation.run()

    assert of_kind(conversation, "Condensation")[0]["summary"] == "NOTES"
