"""Asks the agent's critic, which is a second model, to judge a reply of the agent's model. The agent must
continue if the critic's score is too low.
"""

import asyncio
from dataclasses import replace

import orjson
from pydantic import BaseModel, Field

from agent_runtime.agent.critic import AgentFinishedCritic, Critic, LLMCritic, PassCritic
from agent_runtime.agent.judgement import ask_verdict, record
from agent_runtime.agent.model_turn import ModelTurn
from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.event_log.reply_stream import ReplyStream
from agent_runtime.conversation.event_log.state import FINISH
from agent_runtime.conversation.run.budget import check_cost, count_reply
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.critic import CriticResult
from agent_runtime.events.message import MessageEvent, runtime_message
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.errors import LLMError
from agent_runtime.workspace import git

USAGE_ID = "critic"


async def criticised(context: RunContext, turn: ModelTurn, stream: ReplyStream) -> ModelTurn:
    """Asks the agent's critic (a second model) to judge the last event of a reply of the agent's model.
    Returns the events of the reply, with the critic's judgement in the last event. Returns `turn` unchanged
    if there is no critic, or if the critic does not judge events of this kind.

    `turn`: the reply as events. `stream`: the object that publishes the reply to clients. If the request to
    the critic fails, returns the reply without a judgement, but with an event about the failure. If this
    coroutine is cancelled, the clients are informed through `stream` that the reply was dropped.
    """
    critic, subject = context.agent.critic, turn.events[-1]
    if critic is None or not _is_looked_at(critic, subject):
        return turn
    try:
        result = await _evaluate(critic, subject, context)
    except LLMError as error:
        failure = {"critic_failure": {"code": error.code, "detail": str(error)}}
        notice = ConversationStateUpdateEvent(key="agent_state", value=failure)
        return replace(turn, events=(notice, *turn.events))
    except asyncio.CancelledError:
        stream.drop("cancelled")
        raise
    judged = subject.model_copy(update={"critic_result": result})
    return replace(turn, events=(*turn.events[:-1], judged))


def is_refined(context: RunContext) -> bool:
    """Returns whether the agent must improve its work because the critic's score is too low. If it must, the
    function has already logged the critic's message to the agent.

    Returns False if the agent was already told to improve its work the maximum number of times since the
    user's last message. Raises RunError if the conversation's budget is spent.
    """
    critic, critique = context.agent.critic, context.state.critique
    limits = critic.iterative_refinement if critic is not None else None
    if limits is None or critique is None or critique.score >= limits.success_threshold:
        return False
    if context.state.critiques > limits.max_iterations:
        return False
    check_cost(context)
    text = render(
        "critic_unmet.j2",
        score=critique.score,
        threshold=limits.success_threshold,
        message=critique.message,
    )
    context.emit(runtime_message(text))
    return True


class _Opinion(BaseModel):
    score: float = Field(ge=0, le=1)
    feedback: str


def _is_looked_at(critic: Critic, subject: Event) -> bool:
    match subject:
        case MessageEvent():
            return subject.source == "agent"
        case ActionEvent():
            return critic.mode == "all_actions" or _is_finish(subject)
        case _:
            return False


def _is_finish(subject: Event) -> bool:
    return isinstance(subject, ActionEvent) and subject.tool_name == FINISH and subject.action is not None


async def _evaluate(critic: Critic, subject: Event, context: RunContext) -> CriticResult:
    match critic:
        case PassCritic():
            return CriticResult(score=1, message="Everything is good enough.")
        case LLMCritic():
            return await _ask(critic, subject, context)
        case AgentFinishedCritic() if not _is_finish(subject):
            return CriticResult(score=0, message="The agent has not called `finish`.")
        case _:
            return await _look_at_changes(context)


async def _ask(critic: LLMCritic, subject: Event, context: RunContext) -> CriticResult:
    messages = [*context.model_input.messages(), _as_chat_message(subject)]
    opinion = await ask_verdict(
        _Opinion,
        lambda chars: render("critic.j2", criteria=critic.criteria, messages=record(messages, chars)),
        critic.llm or context.agent.llm,
        context.llm_client,
        usage_id=USAGE_ID,
        on_reply=lambda llm, reply: count_reply(context, llm, reply),
    )
    return CriticResult(score=opinion.score, message=opinion.feedback.strip())


async def _look_at_changes(context: RunContext) -> CriticResult:
    try:
        changes = await git.changes(context.working_dir)
    except git.GitError as error:
        return CriticResult(score=0, message=f"No changes can be seen: {error}")
    if not changes:
        return CriticResult(score=0, message="Nothing in the repository has changed.")
    return CriticResult(score=1, message=f"Changed files: {len(changes)}.")


def _as_chat_message(subject: Event) -> bytes:
    """Returns an event of the agent (a message or a tool call) as a chat message in JSON, which the critic
    reads. Secrets in the event must already be masked.
    """
    if isinstance(subject, MessageEvent):
        text = subject.llm_message.text
    else:
        assert isinstance(subject, ActionEvent)
        text = f"[calls {subject.tool_name}: {subject.tool_call.arguments}]"
    return orjson.dumps({"role": "assistant", "content": text})
