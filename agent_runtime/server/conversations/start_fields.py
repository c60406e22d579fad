"""Checks the request that creates a conversation, and adds the text and skills of `agent_launch_additions` to
its agent. Fields of the protocol that have no meaning on this server are refused.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agent_runtime.events.base import JsonObject
from agent_runtime.server.errors import ServerProblem, field_error, invalid, unsupported_field
from agent_runtime.tools.external.client_tool import ClientToolSpec
from agent_runtime.wire import StartConversationRequest
from agent_runtime.wire.conversations import Tags
from agent_runtime.wire.mcp_definitions import ToolDefinition

_WITHOUT_MEANING = {
    "agent_profile_id": "Send the complete `agent`, and leave `agent_profile_id` out.",
    "conversation_runtime": "Leave it out, or send `local`, the only runtime of this server.",
    "container": "Leave it out. The limits of the sandbox apply to all of its conversations.",
    "prompt": "Leave it out. Send `title`, or choose the model for titles with `title_llm_profile`.",
}
"""The fields of the protocol that would have no effect here. For each field: what a client can do instead."""

_AGENT_KIND = "Agent"
_DEFAULTS: dict[str, tuple[object, ...]] = {"conversation_runtime": ("local",), "prompt": ("",)}


class AgentLaunchAdditions(BaseModel):
    """The field `agent_launch_additions` of the request that creates a conversation: a text and skills that
    the operator of the client adds to the agent.

    `system_message_suffix_append`: a text for the end of the system prompt. `skills`: skills that the agent
    gets in addition to its own. A skill of the agent with the same name takes precedence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    system_message_suffix_append: str | None = Field(default=None, max_length=32_768)
    skills: list[JsonObject] | None = None
    llm_profile_ref: str | None = None


_ADDITIONS: TypeAdapter[AgentLaunchAdditions | None] = TypeAdapter(AgentLaunchAdditions | None)
_CHECKED: dict[str, TypeAdapter[Any]] = {
    "client_tools": TypeAdapter(list[ClientToolSpec]),
    "tags": TypeAdapter(Tags),
    "mcp_approved": TypeAdapter(dict[str, dict[str, ToolDefinition]]),
}
"""The fields whose content StartConversationRequest does not check. They are checked before the conversation
is created, so that an error names the field.
"""


def checked_start(request: StartConversationRequest) -> StartConversationRequest:
    """Returns a copy of the request in which `agent_launch_additions` are a part of the agent. Raises
    ServerProblem 422 if a field is not valid, or if it has a value that has no meaning here.
    """
    kind = request.agent.get("kind", _AGENT_KIND)
    if kind != _AGENT_KIND:
        raise _unsupported_agent(kind)
    for name, adapter in _CHECKED.items():
        try:
            adapter.validate_python(getattr(request, name))
        except ValidationError as error:
            raise invalid(error, name) from error
    extra = request.model_extra or {}
    for name, fix in _WITHOUT_MEANING.items():
        if extra.get(name) not in (None, *_DEFAULTS.get(name, ())):
            raise unsupported_field(name, fix)
    given = extra.get("agent_launch_additions")
    try:
        additions = _ADDITIONS.validate_python(given)
    except ValidationError as error:
        raise invalid(error, "agent_launch_additions") from error
    if additions is None:
        return request
    if additions.llm_profile_ref is not None:
        raise unsupported_field("agent_launch_additions.llm_profile_ref", "Send the model as `agent.llm`.")
    agent = _with_additions(request.agent, additions)
    return request.model_copy(update={"agent": agent, "agent_launch_additions": None})


def _unsupported_agent(kind: object) -> ServerProblem:
    text = f"Agents of the kind {str(kind)[:64]} are not supported."
    fix = f"Send an agent of the kind `{_AGENT_KIND}`, with its model as `llm`."
    members = {"errors": [field_error(("body", "agent", "kind"), text, "unsupported_agent")]}
    return ServerProblem(422, "unsupported_agent", text, fix, members=members)


def _with_additions(agent: JsonObject, additions: AgentLaunchAdditions) -> JsonObject:
    context = agent.get("agent_context") or {}
    if not isinstance(context, dict):
        return agent  # it is refused when the agent is read
    context = dict(context)
    if suffix := (additions.system_message_suffix_append or "").strip():
        parts = (str(context.get("system_message_suffix") or "").strip(), suffix)
        context["system_message_suffix"] = "\n\n".join(part for part in parts if part)
    if additions.skills:
        context["skills"] = [*_list(context, "skills"), *_new_skills(context, additions.skills)]
    return {**agent, "agent_context": context} if context else agent


def _new_skills(context: JsonObject, skills: list[JsonObject]) -> list[JsonObject]:
    own = [one.get("name") for one in _list(context, "skills") if isinstance(one, dict)]
    taken = [*own, *_list(context, "disabled_skills")]
    added: list[JsonObject] = []
    for skill in skills:
        if skill.get("name") not in taken:
            added.append(skill)
            taken.append(skill.get("name"))
    return added


def _list(context: JsonObject, name: str) -> list[Any]:
    value = context.get(name)
    return value if isinstance(value, list) else []
