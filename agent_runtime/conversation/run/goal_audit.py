"""Asks a judge whether a conversation's goal is reached. The judge is a model that reads the messages of the
conversation. The agent gets the judge's objections.
"""

from agent_runtime.agent.judgement import ask_verdict, record
from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.run.budget import check_cost, settle
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.goal import GOAL, Goal, GoalVerdict
from agent_runtime.events.base import Event
from agent_runtime.events.message import runtime_message


async def audit(context: RunContext) -> None:
    """Asks the judge (a model) to check whether the conversation's goal is reached, and logs the judge's
    verdict. Does nothing if the conversation has no active goal. Raises LLMError if the judge gives no
    verdict.
    """
    goal = context.state.goal
    if goal is None or not goal.active:
        return
    check_cost(context)
    verdict = await _judge(context, goal)
    if context.state.goal != goal:
        return  # stopped while the judge was thinking
    audited = goal.audited(verdict)
    context.emit(audited.to_event(), *(_objections(audited, verdict) if audited.active else []))


async def _judge(context: RunContext, goal: Goal) -> GoalVerdict:
    messages = context.model_input.messages()
    return await ask_verdict(
        GoalVerdict,
        lambda chars: render("goal.j2", objective=goal.objective, messages=record(messages, chars)),
        context.agent.llm,
        context.llm_client,
        usage_id=GOAL,
        on_reply=lambda llm, reply: settle(context, llm, reply),
    )


def _objections(goal: Goal, verdict: GoalVerdict) -> list[Event]:
    text = render(
        "goal_unmet.j2",
        iteration=goal.iteration,
        max_iterations=goal.max_iterations,
        missing=verdict.missing.strip(),
    )
    return [runtime_message(text)]
