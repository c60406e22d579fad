"""The tools that Slipway's own MCP server provides to agents in sandboxes. To add a tool, append an AgentTool
to AGENT_TOOLS, or call `add`.

A call of such a tool acts for one conversation. The function of the tool gets this conversation from
`current_agent()`. An agent gets every tool whose `is_offered` returns true. Users need not configure
anything.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fastapi import Request

from app_server.conversations.models import Conversation
from app_server.core.config import Config
from app_server.git.providers import GitProvider
from app_server.mcp import caller, web_search
from app_server.mcp.tool import McpTool
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User

INSTRUCTIONS = "Tools of Slipway, the place where this agent works. They act for this conversation."


@dataclass(frozen=True)
class AgentTool:
    """An MCP tool that agents in sandboxes can call, and the condition under which an agent gets the tool.

    `is_offered(config, providers)`: returns whether an agent gets the tool. `providers`: kinds of git hosts,
    such as GitHub. A kind is included if a repository of the agent's conversation is at such a host and the
    user has a token for this host.
    """

    tool: McpTool
    is_offered: Callable[[Config, Collection[GitProvider]], bool]


@dataclass(frozen=True)
class CallingAgent:
    """The agent that calls an MCP tool: its conversation, the owner of the conversation and the sandbox."""

    user: User
    conversation: Conversation
    sandbox: Sandbox


AGENT_TOOLS: list[AgentTool] = [
    AgentTool(web_search.TOOL, lambda config, _: config.tavily_api_key is not None),
]

_AGENT = "slipway.agent"


def add(tool: McpTool, is_offered: Callable[[Config, Collection[GitProvider]], bool]) -> None:
    """Adds an MCP tool to AGENT_TOOLS, the list of tools that agents in sandboxes can get. Call this function
    at the top level of a module, so that the list is complete before the first request.

    `is_offered`: a function that returns whether an agent gets the tool (see AgentTool).
    """
    AGENT_TOOLS.append(AgentTool(tool, is_offered))


def tools_for(config: Config, providers: Collection[GitProvider]) -> Sequence[McpTool]:
    """Returns the MCP tools that an agent gets. `providers`: kinds of git hosts, such as GitHub. A kind is
    included if a repository of the agent's conversation is at such a host and the user has a token for this
    host.
    """
    return [one.tool for one in AGENT_TOOLS if one.is_offered(config, providers)]


def has_tools(config: Config, providers: Collection[GitProvider]) -> bool:
    """Returns whether an agent gets at least one MCP tool. `providers`: kinds of git hosts, such as GitHub. A
    kind is included if a repository of the agent's conversation is at such a host and the user has a token
    for this host.
    """
    return bool(tools_for(config, providers))


def tell_agent(request: Request, agent: CallingAgent) -> None:
    """Records in `request` that `agent` has sent this MCP request. While a tool processes the request,
    `current_agent` returns `agent`.
    """
    request.scope[_AGENT] = agent


def current_agent() -> CallingAgent:
    """Returns the agent that has sent the current MCP request. A tool calls this function to find out for
    which conversation it was called.
    """
    agent: CallingAgent = caller.current_request().scope[_AGENT]
    return agent
