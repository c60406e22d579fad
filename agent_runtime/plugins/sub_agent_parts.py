"""Validates the hooks and MCP servers in a sub-agent's definition."""

from pydantic import ValidationError

from agent_runtime.context.sub_agents import SubAgent
from agent_runtime.hooks.config import HookConfig, known_points
from agent_runtime.tools.mcp.config import servers_of


def checked(agent: SubAgent) -> tuple[SubAgent, list[str]]:
    """Returns a copy of the sub-agent's definition without hooks and MCP servers that are not valid, and a
    text about each part that was left out.
    """
    reasons: list[str] = []
    if agent.hooks is not None:
        try:
            HookConfig.model_validate(known_points(agent.hooks))
        except ValidationError as error:
            reasons.append(f"its hooks are not used: {fault(error)}")
            agent = agent.model_copy(update={"hooks": None})
    try:
        servers_of(agent.own_servers)
    except ValidationError as error:
        reasons.append(f"its MCP servers are not used: {fault(error)}")
        agent = agent.model_copy(update={"mcp_servers": None, "mcp_config": None})
    return agent, reasons


def fault(error: ValidationError) -> str:
    """Returns the first validation error as text, with the name of the invalid field."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
