"""Compares the stored agent of a conversation with the agent that a program passes when it reopens the
conversation.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from agent_runtime.agent.agent import Agent
from agent_runtime.context.condense import summarizers
from agent_runtime.context.skills import NO_CONTEXT
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.conversation.model_switch import with_llm
from agent_runtime.conversation.unmasked_keys import without_keys
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM
from agent_runtime.tools.mcp.config import named_servers

_NOT_KEPT = ("skill_files", "secrets")


class Switch(NamedTuple):
    """The models to which a reopened conversation changes. `llm`: the new model of the agent.

    `condenser_llm`: the new model of the condenser, which summarizes older events. If it is None, a condenser
    that used the agent's old model changes to the agent's new model. A condenser with another model then
    keeps its model.
    """

    llm: LLM
    condenser_llm: LLM | None


def wanted_switch(stored: JsonObject, agent: Agent) -> Switch | None:
    """Compares the agent that is stored with a conversation (`stored`) with the agent that a program passes
    when it reopens the conversation (`agent`). Returns the models of the passed agent if at least one model
    differs from the stored models, otherwise None. API keys are not compared.

    Raises ConversationError `agent_differs` if the agents differ in anything except their models.
    """
    before = Agent.model_validate(stored)
    now = without_keys(agent)
    after = with_llm(before, now.llm)
    if after.llm == before.llm:
        after = before
    condenser_llm = _condenser_llm(now)
    has_other_condenser = condenser_llm is not None and condenser_llm != _condenser_llm(after)
    if has_other_condenser:
        after = with_llm(after, after.llm, condenser_llm)
    _refuse_differences(before, after, now)
    if after == before:
        return None
    return Switch(agent.llm, _condenser_llm(agent) if has_other_condenser else None)


def _condenser_llm(agent: Agent) -> LLM | None:
    return next((one.llm for one in summarizers(agent.condenser)), None)


def _refuse_differences(before: Agent, after: Agent, now: Agent) -> None:
    same_llm = {"llm": before.llm}
    stands, given = (_comparable(one.model_copy(update=same_llm)) for one in (after, now))
    different = [*_differences(_without_additions(stands, given), given)]
    if different:
        raise ConversationError(
            "agent_differs",
            f"This conversation was started with another agent: {', '.join(different)} differ.",
            "Give the agent it was started with, or start a new conversation. Models and keys may be others.",
        )


def _comparable(agent: Agent) -> JsonObject:
    """Returns the agent as JSON without the fields that are not stored with a conversation, so that it can be
    compared with a stored agent. Equal agents give equal JSON.
    """
    data = agent.model_dump(mode="json")
    context = data["agent_context"] or NO_CONTEXT.model_dump(mode="json")
    data["agent_context"] = {name: item for name, item in context.items() if name not in _NOT_KEPT}
    data["mcp_config"] = named_servers(data["mcp_config"])
    return data


def _without_additions(stands: JsonObject, given: JsonObject) -> JsonObject:
    """Returns a copy of the stored agent (`stands`) without the MCP servers and skills that plugins have
    added later. The agent that a program passes (`given`) does not have to contain these additions.
    """
    servers, context = stands["mcp_config"], stands["agent_context"]
    count = len(given["agent_context"]["skills"])
    return {
        **stands,
        "mcp_config": {name: item for name, item in servers.items() if name in given["mcp_config"]},
        "agent_context": {**context, "skills": context["skills"][:count]},
    }


def _differences(stands: Any, given: Any, path: str = "") -> Iterator[str]:
    """Yields the names of the fields in which two JSON values differ, such as `condenser.max_size`. `path`:
    the name of the field that contains the two values; empty for whole agents.
    """
    if isinstance(stands, dict) and isinstance(given, dict):
        for name in sorted({*stands, *given}):
            yield from _differences(
                stands.get(name), given.get(name), f"{path}.{name}" if path else str(name)
            )
    elif stands != given:
        yield path
