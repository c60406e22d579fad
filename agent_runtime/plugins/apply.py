"""Adds the skills, hooks, MCP servers and sub-agents of plugins to the request that starts a conversation. A
skill, an MCP server or a sub-agent of a plugin has no effect if the client's request already contains one
with the same name. The client's copies of built-in sub-agents do not count. Hooks have no names: the hooks of
the plugins run in addition to the hooks in the request.
"""

from collections.abc import Sequence
from typing import Any

from agent_runtime.context.skills import Skill
from agent_runtime.events.base import JsonObject
from agent_runtime.hooks.config import known_points, spelled
from agent_runtime.plugins.plugin import Plugin
from agent_runtime.tools.mcp.config import named_servers
from agent_runtime.wire import StartConversationRequest


def with_plugins(request: StartConversationRequest, plugins: Sequence[Plugin]) -> StartConversationRequest:
    """Returns a copy of the request with all parts of the plugins (skills, hooks, MCP servers and
    sub-agents), in the form in which clients send such parts.
    """
    if not plugins:
        return request
    agent = dict(request.agent)
    context = dict(agent.get("agent_context") or {})
    given = [as_request_skill(skill) for plugin in plugins for skill in plugin.skills]
    context["skills"] = [*(context.get("skills") or []), *given]
    servers: JsonObject = {}
    for config in (*(plugin.mcp_config or {} for plugin in reversed(plugins)), agent.get("mcp_config") or {}):
        servers |= named_servers(config)
    agent |= {"agent_context": context, "mcp_config": servers}
    hooks = [known_points(plugin.hook_config or {}) for plugin in plugins]
    merged = joined([spelled(request.hook_config or {}), *hooks])
    changes: JsonObject = {"agent": agent, "hook_config": merged or None}
    agents = [one.model_dump(mode="json", exclude_none=True) for plugin in plugins for one in plugin.agents]
    if agents:
        changes["agent_definitions"] = [*sub_agents_of(request), *agents]
    return request.model_copy(update=changes)


def sub_agents_of(request: StartConversationRequest) -> Sequence[JsonObject]:
    """Returns the definitions of sub-agents in the request."""
    return (request.model_extra or {}).get("agent_definitions") or ()


def as_request_skill(skill: Skill) -> JsonObject:
    """Returns the skill as a JSON object, in the form in which clients send skills in a request."""
    return {
        **skill.model_dump(mode="json", exclude_none=True, exclude={"type", "triggers", "paths"}),
        "is_agentskills_format": skill.type == "agentskills",
        "trigger": {"keywords": skill.triggers, "paths": skill.paths},
    }


def joined(hook_configs: Sequence[JsonObject]) -> JsonObject:
    """Returns one hook configuration with the hooks of all given configurations, in order. The keys of each
    configuration are the field names of HookConfig.
    """
    found: dict[str, list[Any]] = {}
    for config in hook_configs:
        for point, matchers in config.items():
            found.setdefault(point, []).extend(matchers or [])
    return found
