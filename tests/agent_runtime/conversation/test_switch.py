"""Tests of a change of the model during a conversation."""

from typing import Any

from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.changes import set_budget
from agent_runtime.conversation.model_switch import switch_llm
from agent_runtime.llm.config import LLM
from agent_runtime.llm.conversation_costs import budget_of
from tests.agent_runtime.conversation.conftest import Conversations, agent_spec, events_of, user
from tests.agent_runtime.conversation.labour import condenser, condensing
from tests.support.scripted_llm import ScriptedLLM, call, hold, say


def model(llm: ScriptedLLM, name: str, **fields: Any) -> LLM:
    return LLM.model_validate(
        {
            "model": f"openai/{name}",
            "base_url": llm.base_url,
            "api_key": "sk-other",
            "retry_max_wait": 0,
            **fields,
        }
    )


async def test_the_next_call_of_a_run_goes_to_the_new_model(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    thinking = hold(call("terminal", command="echo hi"))
    scripted_llm.script(thinking, say("Done."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    switch_llm(conversation, model(scripted_llm, "other"))
    thinking.release()
    await conversation.wait()

    assert [request.body["model"] for request in scripted_llm.requests] == ["scripted", "other"]
    assert [request.bearer for request in scripted_llm.requests] == [scripted_llm.api_key, "sk-other"]
    assert conversation.status == "finished"
    assert conversation.info().current_model_id == "openai/other"
    assert conversation.info().agent["llm"]["model"] == "openai/other"
    assert conversation.info().agent["tools"] == [
        {"name": "terminal", "params": {}},
        {"name": "file_editor", "params": {}},
    ]


async def test_a_switched_model_survives_a_restart_a_rewind_and_a_fork_but_its_key_is_not_kept(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("One."))
    conversation = conversations.create()
    conversation.send(user("Go."), message_id="first")
    await conversation.run()
    switch_llm(conversation, model(scripted_llm, "other"))

    go_back(conversation, "first")
    await conversation.close()
    reopened = conversations.reopen()

    assert reopened.agent.llm.model == "openai/other"
    assert reopened.agent.llm.api_key is None
    assert "sk-other" not in str(events_of(reopened))
    assert reopened.info().current_model_id == "openai/other"


async def test_each_usage_id_is_counted_apart_and_a_shared_one_goes_on(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = lambda _: say("Yes.")
    conversation = conversations.create()
    for llm in (None, model(scripted_llm, "second"), model(scripted_llm, "third", usage_id="costly")):
        if llm is not None:
            switch_llm(conversation, llm)
        conversation.send(user("Again."))
        await conversation.run()

    usage = conversation.state.stats["usage_to_metrics"]
    tokens = {name: one["accumulated_token_usage"]["prompt_tokens"] for name, one in usage.items()}
    assert tokens == {"agent": 200, "costly": 100}
    assert {name: one["model_name"] for name, one in usage.items()} == {
        "agent": "openai/second",
        "costly": "openai/third",
    }


async def test_a_condenser_that_shared_the_agents_model_follows_it_and_another_stays(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    sharing = conversations.create(
        agent={
            "condenser": condenser(scripted_llm)
            | {
                "llm": {
                    "model": "openai/scripted",
                    "base_url": scripted_llm.base_url,
                    "usage_id": "condenser",
                }
            }
        }
    )
    switch_llm(sharing, model(scripted_llm, "other"))
    followed = sharing.info().agent["condenser"]["llm"]
    await sharing.delete()
    apart = conversations.create(agent=condensing(conversations))
    switch_llm(apart, model(scripted_llm, "other"))

    assert (followed["model"], followed["usage_id"]) == ("openai/other", "condenser")
    assert apart.info().agent["condenser"]["llm"]["model"] == "openai/scripted-condenser"


async def test_the_budget_stays_unless_the_model_brings_its_own(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create(llm={"max_budget_per_task": 2.5})
    switch_llm(conversation, model(scripted_llm, "second", usage_id="other"))
    kept = budget_of(conversation.state.stats, conversation.agent.llm)
    set_budget(conversation, 4)
    switch_llm(conversation, model(scripted_llm, "third", usage_id="another"))
    raised = budget_of(conversation.state.stats, conversation.agent.llm)
    switch_llm(conversation, model(scripted_llm, "fourth", max_budget_per_task=1))

    assert (kept, raised) == (2.5, 4)
    assert budget_of(conversation.state.stats, conversation.agent.llm) == 1


async def test_keys_that_come_again_for_the_former_model_do_not_bring_it_back(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    first = conversation.agent.model_dump(mode="json") | {"llm": agent_spec(scripted_llm)["llm"]}
    switch_llm(conversation, model(scripted_llm, "other"))

    conversation.keys.take(first)

    assert conversation.agent.llm.model == "openai/other"
