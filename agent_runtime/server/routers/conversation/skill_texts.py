"""Leaves the skills of the agent out of descriptions of conversations, unless the client asks for them."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Query

from agent_runtime.wire import ConversationInfo

View = Callable[[ConversationInfo], ConversationInfo]
"""A function that returns the description of a conversation in the form that the client asks for."""


async def _view(
    include_skills: Annotated[
        bool,
        Query(
            description="Whether `agent.agent_context.skills` has the skills with their texts. "
            "Otherwise it is an empty list"
        ),
    ] = False,
) -> View:
    return _unchanged if include_skills else _without_skills


WantedView = Annotated[View, Depends(_view)]


def _unchanged(info: ConversationInfo) -> ConversationInfo:
    return info


def _without_skills(info: ConversationInfo) -> ConversationInfo:
    context = info.agent.get("agent_context")
    if not context or not context.get("skills"):
        return info
    return info.model_copy(update={"agent": {**info.agent, "agent_context": {**context, "skills": []}}})
