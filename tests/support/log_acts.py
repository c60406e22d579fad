"""The acts of the recorded logs: each act plays a scene that needs more than messages, for example an
interruption, a fork or an approval.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agent_runtime.conversation.approval.answers import approve, reject
from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.changes import relabel, set_budget
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.fork import fork
from agent_runtime.conversation.run.goal_commands import pursue
from agent_runtime.events.message import Message
from agent_runtime.wire import ForkRequest
from tests.agent_runtime.conversation.conftest import Conversations, Watch, events_of, user
from tests.agent_runtime.conversation.labour import condensing, think, working
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, calls, fail, hang, hold, say

Act = Callable[["Stage"], Awaitable[ConversationEngine]]


@dataclass
class Stage:
    """The conversations and the scripted model with which a scene runs."""

    conversations: Conversations
    llm: ScriptedLLM

    def create(self, **request: Any) -> ConversationEngine:
        return self.conversations.create(**request)

    async def talk(self, conversation: ConversationEngine, *messages: str | Message) -> ConversationEngine:
        for message in messages:
            conversation.send(user(message) if isinstance(message, str) else message)
            await conversation.run()
        return conversation

    @property
    def workspace(self) -> str:
        return str(self.conversations.workspace)


async def interrupted_command(stage: Stage) -> ConversationEngine:
    conversation = stage.create()
    watch = Watch(conversation)
    stage.llm.script(
        calls(("terminal", {"command": "sleep 60"}), ("terminal", {"command": "echo never"})), say("I see.")
    )
    conversation.send(user("Sleep."))
    conversation.start()
    await watch.until_event("ActionEvent")
    await conversation.interrupt()
    await conversation.run()
    return conversation


async def asked_once(stage: Stage, *turns: Turn) -> ConversationEngine:
    """Starts a conversation and returns it when the agent has sent its first request to the model. `turns`:
    the replies that the model will give.
    """
    conversation = stage.create()
    stage.llm.script(*turns)
    conversation.send(user("Go."))
    conversation.start()
    await stage.llm.wait_for_requests(1)
    return conversation


async def interrupted_reply(stage: Stage) -> ConversationEngine:
    conversation = await asked_once(stage, hang(), say("Here I am."))
    await conversation.interrupt()
    await conversation.run()
    return conversation


async def paused(stage: Stage) -> ConversationEngine:
    reply = hold(call("terminal", command="echo later"))
    conversation = await asked_once(stage, reply, say("Done."))
    conversation.pause()
    reply.release()
    await conversation.wait()
    await conversation.run()
    return conversation


async def message_meanwhile(stage: Stage) -> ConversationEngine:
    held = hold(call("terminal", command="echo two"))
    conversation = await asked_once(stage, held, say("Both done."))
    conversation.send(user("And this."))
    conversation.send(user("And that."), message_id="that")
    conversation.send(user("And that."), message_id="that")
    held.release()
    await conversation.wait()
    return conversation


async def cut_off(stage: Stage) -> ConversationEngine:
    conversation = stage.create()
    watch = Watch(conversation)
    stage.llm.script(
        calls(("terminal", {"command": "echo a"}), ("terminal", {"command": "sleep 60"})), say("Again.")
    )
    conversation.send(user("Go."))
    conversation.start()
    await watch.until_event("ObservationEvent")
    await conversation.close()
    reopened = stage.conversations.reopen()
    await reopened.run()
    return reopened


async def unfinished(stage: Stage) -> ConversationEngine:
    conversation = stage.create()
    watch = Watch(conversation)
    stage.llm.script(call("terminal", command="sleep 60"))
    conversation.send(user("Go."))
    conversation.start()
    await watch.until_event("ActionEvent")
    await conversation.close()
    return conversation


def went_back(position: int | None) -> Act:
    async def act(stage: Stage) -> ConversationEngine:
        stage.llm.script(think("a"), say("One."), call("terminal", command="echo b"), say("Other."))
        conversation = await stage.talk(stage.create(), "Go.")
        go_back(conversation, None if position is None else events_of(conversation)[position]["id"])
        return await stage.talk(conversation, "Differently.")

    return act


def forked(from_position: int | None, *, reset_metrics: bool = True) -> Act:
    async def act(stage: Stage) -> ConversationEngine:
        stage.llm.script(think("a"), say("One."), say("Other."))
        source = await stage.talk(stage.create(title="Source", tags={"a": "b"}), "Go.")
        chosen = None if from_position is None else events_of(source)[from_position]["id"]
        wanted = ForkRequest(from_event_id=chosen, reset_metrics=reset_metrics)
        copy = await fork(source, stage.conversations.path / "fork", wanted)
        return await stage.talk(stage.conversations._keep(copy), "On.")

    return act


async def condensed_on_request(stage: Stage) -> ConversationEngine:
    stage.llm.fallback = working(8)
    conversation = stage.create(agent=condensing(stage.conversations, max_size=200, keep_first=2))
    await stage.talk(conversation, "Go.")
    await conversation.condensing.request()
    stage.llm.fallback = None
    stage.llm.script(say("Still here."))
    return await stage.talk(conversation, "And now?")


def condensed(steps: int, **condenser: Any) -> Act:
    async def act(stage: Stage) -> ConversationEngine:
        stage.llm.fallback = working(steps)
        conversation = stage.create(agent=condensing(stage.conversations, **condenser))
        return await stage.talk(conversation, "Go.")

    return act


async def prompt_too_long(stage: Stage) -> ConversationEngine:
    has_refused = False

    def answer(request: Request) -> Turn:
        nonlocal has_refused
        if len(request.messages) > 9 and not has_refused:
            has_refused = True
            return fail(400, error="prompt is too long: context window")
        return work(request)

    work = working(6)
    stage.llm.fallback = answer
    return await stage.talk(stage.create(agent=condensing(stage.conversations, keep_first=2)), "Go.")


async def fallback(stage: Stage) -> ConversationEngine:
    spare = {"base_url": stage.llm.base_url, "api_key": "sk-2", "num_retries": 0}
    others = [{"model": "openai/one", **spare}, {"model": "openai/two", "usage_id": "two", **spare}]
    stage.llm.script(fail(503), fail(500), say("I stand in."))
    llm = {"num_retries": 0, "fallback_strategy": {"fallback_llms": others}}
    return await stage.talk(stage.create(llm=llm), "Go.")


async def approved(stage: Stage) -> ConversationEngine:
    conversation = await stage.talk(stage.create(confirmation_policy={"kind": "AlwaysConfirm"}), "Go.")
    approve(conversation)
    await conversation.wait()
    return conversation


async def rejected(stage: Stage) -> ConversationEngine:
    conversation = await stage.talk(stage.create(confirmation_policy={"kind": "AlwaysConfirm"}), "Go.")
    reject(conversation, "Not here.")
    await conversation.run()
    return conversation


async def goal(stage: Stage) -> ConversationEngine:
    conversation = stage.create()
    pursue(conversation, "Make the tests pass.", max_iterations=3)
    await conversation.wait()
    return conversation


async def renamed(stage: Stage) -> ConversationEngine:
    conversation = await stage.talk(stage.create(), "Go.")
    relabel(conversation, title="A name", tags={"team": "blue"})
    set_budget(conversation, 7.5)
    return conversation
