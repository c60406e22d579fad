"""Collects the hooks and MCP servers of a sub-agent: those of the topmost conversation (the one that no other
conversation has started), and those that the sub-agent's definition adds.

A sub-agent gets all hooks of the topmost conversation. It gets an MCP server of the topmost conversation only
if two conditions are met: the sub-agent's parent has the same server, and the sub-agent's definition names no
tools. The hooks and servers of a definition apply only to the sub-agent with this definition, and not to
sub-agents that this sub-agent starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_runtime.context.sub_agents import SubAgent
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.events.base import JsonObject
from agent_runtime.hooks.config import known_points, spelled
from agent_runtime.plugins.apply import joined
from agent_runtime.plugins.sub_agent_parts import checked
from agent_runtime.tools.mcp.config import named_servers


@dataclass(frozen=True)
class Commands:
    """The hooks and MCP servers of one sub-agent.

    `hooks`: the hooks in the JSON format that a request for a new conversation contains; None if there are
    none. `servers`: the configurations of the MCP servers, with API keys, by server name.
    """

    hooks: JsonObject | None
    servers: JsonObject


def granted(definition: SubAgent) -> tuple[SubAgent, Sequence[str]]:
    """Removes from a sub-agent's definition the parts that are not allowed or not valid. Returns the
    remaining definition, and a message about each removed part.

    If the definition comes from a file of the repository, all its hooks and MCP servers are removed, because
    they need the user's consent. The user has consented only to definitions in the request that started the
    conversation.
    """
    if definition.level == "project" and definition.runs_commands:
        return definition.without_commands(), (
            "Its own hooks and MCP servers were left out: the user has not consented to them.",
        )
    usable, reasons = checked(definition)
    return usable, [f"Of {definition.name}: {reason}." for reason in reasons]


def commands_of(
    parent: ConversationEngine, top: ConversationEngine, definition: SubAgent, directory: Path
) -> Commands:
    """Returns the hooks and MCP servers of a sub-agent. `parent`: the conversation that starts the sub-agent.
    `top`: the topmost conversation, which no other conversation has started. `definition`: the sub-agent's
    definition, without the hooks and MCP servers that the user has not approved. `directory`: the
    working directory of the sub-agent.
    """
    above = named_servers(top.agent.mcp_config)
    inherited = {
        name: server
        for name, server in named_servers(parent.agent.mcp_config).items()
        if above.get(name) == server
    }
    here = parent.spec.working_dir.resolve()
    hooks = joined([spelled(top.spec.request.hook_config or {}), known_points(definition.hooks or {})])
    servers = {**({} if definition.tools else inherited), **definition.own_servers}
    return Commands(
        hooks=_moved(hooks, here, directory) or None,
        servers=_moved(servers, here, directory),
    )


def _moved(value: Any, old: Path, new: Path) -> Any:
    """Adapts a configuration of hooks or MCP servers to the working directory of a sub-agent, and returns the
    adapted copy. Only the paths of files that the user has approved are changed: a path in the parent's
    directory `old` becomes the same path in the sub-agent's directory `new`.

    The approved hashes of the files stay unchanged. So a file is accepted only if it has the same content in
    both directories.
    """
    match value:
        case dict():
            return {
                name: _moved_files(below, old, new) if name == "approved_files" else _moved(below, old, new)
                for name, below in value.items()
            }
        case list():
            return [_moved(one, old, new) for one in value]
        case _:
            return value


def _moved_files(files: dict[str, str], old: Path, new: Path) -> dict[str, str]:
    return {
        str(new / Path(path).relative_to(old)) if Path(path).is_relative_to(old) else path: sha256
        for path, sha256 in files.items()
    }
