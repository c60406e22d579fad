"""Tests of concurrent operations and of failures during them: the log stays correct and no resources are
left.
"""

import asyncio
from uuid import uuid4

import pytest
from pydantic import Field

from agent_runtime.conversation.run.task import RunTask
from agent_runtime.tools.tool import Action, Observation, Tool, ToolContext
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    Watch,
    kinds_of,
    of_kind,
    statuses_of,
    user,
)
from tests.agent_runtime.conversation.labour import condensing, think
from tests.support.scripted_llm import ScriptedLLM, calls, fail, hold, say

TIDY = "tests.agent_runtime.conversation.test_races:TidyTool"


class TidyAction(Action):
    how: str = Field(default="", description="What goes wrong in the end.")


class TidyObservation(Observation):
    pass


class TidyTool(Tool[TidyAction]):
    """A tool that works until it is cancelled, and then cleans up until the test sets `may_end`."""

    name = "tidy"
    description = "Works and cleans up."
    action_type = TidyAction
    observation_type = TidyObservation

    def __init__(self, context: ToolContext) -> None:
        del context
        self.is_working, self.is_cancelled, self.may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.has_cleaned = False
        self.breaks_when_closed = False

    async def run(self, action: TidyAction) -> TidyObservation:
        self.is_working.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_cancelled.set()
            await self.may_end.wait()
            self.has_cleaned = True
        return TidyObservation()

    async def close(self) -> None:
        if self.breaks_when_closed:
            raise OSError("the other side is gone")


async def turns_of_the_loop(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def tidy(conversations: Conversations, scripted_llm: ScriptedLLM):
    """Returns the conversation and the tool `tidy`. The agent calls this tool as soon as the conversation
    runs.
    """
    scripted_llm.script(calls(("tidy", {})), say("Done."))
    conversation = conversations.create(tools=[TIDY])
    conversation.send(user("Go."))
    tool = conversation.tools["tidy"]
    assert isinstance(tool, TidyTool)
    return conversation, tool


@pytest.mark.parametrize("second", ["interrupt", "close"])
async def test_stopping_twice_lets_a_call_clean_up_once(tidy, second: str):
    conversation, tool = tidy
    conversation.start()
    await tool.is_working.wait()

    first = asyncio.create_task(conversation.interrupt())
    await tool.is_cancelled.wait()
    other = asyncio.create_task(getattr(conversation, second)())
    await turns_of_the_loop()
    was_waiting = not first.done()
    tool.may_end.set()
    await asyncio.gather(first, other)

    assert was_waiting
    assert tool.has_cleaned


async def test_interrupting_while_it_closes_is_no_error(tidy):
    conversation, tool = tidy
    tool.may_end.set()
    conversation.start()
    await tool.is_working.wait()

    await asyncio.gather(conversation.close(), conversation.interrupt(), conversation.close())

    assert conversation.is_closed
    assert conversation.status != "running"


async def test_a_tool_that_cannot_be_closed_does_not_keep_the_log(tidy, conversations: Conversations):
    conversation, tool = tidy
    tool.breaks_when_closed = True

    await conversation.close()

    assert kinds_of(conversations.reopen())[-1] == "MessageEvent"


async def condensing_alone(conversations: Conversations, scripted_llm: ScriptedLLM):
    """Returns a finished conversation that waits for a condensation, the reply with the summary (the test
    releases it), and the task of the condensation.
    """
    summary = hold(say("SUMMARY"))
    scripted_llm.script(think("1"), think("2"), say("Done."), summary)
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))
    await conversation.run()
    condensation = asyncio.create_task(conversation.condensing.request())
    await scripted_llm.wait_for_requests(4)
    return conversation, summary, condensation


async def test_a_message_that_comes_during_a_condensation_still_waits_after_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation, summary, condensation = await condensing_alone(conversations, scripted_llm)

    conversation.send(user("One more thing."))
    summary.release()
    await condensation

    assert conversation.status == "idle"
    assert conversation.state.has_work
    scripted_llm.script(say("Done, too."))
    await conversation.run()
    assert "One more thing." in scripted_llm.requests[-1].last_text
    assert conversation.status == "finished"


async def test_a_pause_during_a_condensation_holds(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation, summary, condensation = await condensing_alone(conversations, scripted_llm)

    conversation.pause()
    summary.release()
    await condensation

    assert conversation.status == "paused"


async def test_a_run_interrupted_while_it_waits_for_a_condensation_is_paused(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation, summary, condensation = await condensing_alone(conversations, scripted_llm)
    conversation.send(user("More."))
    conversation.start()
    status_while_waiting = conversation.status

    await conversation.interrupt()
    summary.release()
    await condensation

    assert status_while_waiting == "running"
    assert conversation.status == "paused"
    assert statuses_of(conversation)[-1] == "paused"


async def test_after_a_condensation_that_failed_the_work_goes_on(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(think("1"), think("2"), say("Done."), fail(401), say("Still here."))
    conversation = conversations.create(agent=condensing(conversations))
    conversation.send(user("Go."))
    await conversation.run()
    await conversation.condensing.request()

    conversation.send(user("Go on."))
    await conversation.run()

    assert conversation.state.final_response == "Still here."
    assert conversation.status == "finished"


async def test_a_run_that_was_cut_off_goes_on_without_repeating_a_call(tidy, conversations: Conversations):
    conversation, tool = tidy
    tool.may_end.set()
    conversation.start()
    await tool.is_working.wait()
    await conversation.close()

    again = conversations.reopen()
    await again.run()

    (answer,) = of_kind(again, "AgentErrorEvent")
    assert "may have run" in answer["error"]
    assert again.state.final_response == "Done."


async def test_a_run_that_something_inside_it_cancels_is_told_to_be_over():
    ends: list[bool] = []
    lost: list[BaseException] = []

    async def work() -> None:
        raise asyncio.CancelledError

    run = RunTask(uuid4())
    run.start(work, on_end=lambda: ends.append(run.is_running), on_lost=lost.append)
    await run.wait()

    assert ends == [False]
    assert [type(cause) for cause in lost] == [asyncio.CancelledError]


async def test_a_message_that_comes_while_the_last_checkpoint_is_made_is_answered(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    first = hold(say("That was all."))
    scripted_llm.script(first, say("And this, too."))
    conversation = conversations.create()
    seen = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)
    async with conversation.checkpoints.lock:
        first.release()
        await seen.until(lambda frame: "That was all." in str(frame.get("event", {}).get("llm_message")))
        await turns_of_the_loop()
        assert conversation.is_running
        conversation.send(user("And this?"))
    await conversation.wait()

    assert len(scripted_llm.requests) == 2
    assert not conversation.state.has_work
    assert statuses_of(conversation)[-2:] == ["running", "finished"]
