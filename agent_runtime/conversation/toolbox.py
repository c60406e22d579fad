"""Creates, connects and closes the tools that the agent of one conversation can use."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.spec import Spec
from agent_runtime.plugins.apply import sub_agents_of
from agent_runtime.project_executables.consents import further_projects
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.arguments import DescriptionParameter, model_schema
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.tools.external.client_tool import ClientTool, ClientToolSpec
from agent_runtime.tools.invoke_skill import InvokeSkillTool
from agent_runtime.tools.live_output import LiveOutputs
from agent_runtime.tools.mcp.approvals import Approvals
from agent_runtime.tools.mcp.confidential import confidential_values
from agent_runtime.tools.mcp.config import servers_of
from agent_runtime.tools.mcp.questions import AskUser
from agent_runtime.tools.mcp.servers import McpServers
from agent_runtime.tools.memory.search import MemorySearchTool
from agent_runtime.tools.memory.write import MemoryWriteTool
from agent_runtime.tools.registry import BUILT_IN, ToolNotFoundError, create_tools
from agent_runtime.tools.tool import AnyTool, ToolContext

logger = logging.getLogger(__name__)


class Toolbox:
    """The tools that the agent of one conversation can use: the agent's own tools, and the tools of its MCP
    servers after the servers have been connected.
    """

    def __init__(
        self,
        spec: Spec,
        agent: Agent,
        state_dir: Path,
        secrets: Secrets,
        delegation: Delegation = ALONE,
        approvals: Approvals | None = None,
        live: LiveOutputs | None = None,
        ask_user: AskUser | None = None,
    ) -> None:
        """Creates the agent's own tools. MCP servers are connected later, by `prepare`.

        `spec`: the data with which the conversation was created. `state_dir`: the directory for files of the
        tools. `secrets`: the secrets that the tools may use. `delegation`: the functions that start
        sub-agents. `approvals`: the MCP tools that the user has approved. `live`: the object that collects
        the output of running tool calls. `ask_user`: passes questions of MCP servers to the user; None means
        that the servers cannot ask the user.

        Raises ToolNotFoundError for an unknown tool. Raises pydantic.ValidationError if the configuration of
        an MCP server or client tool is not valid.
        """
        self._context = ToolContext(
            spec.working_dir,
            state_dir,
            secrets,
            delegation,
            sub_agents_of(spec.request),
            spec.id,
            live or LiveOutputs(),
            further_projects(spec.request),
        )
        self._own = _make_tools(spec, agent, self._context)
        self._filter = agent.filter_tools_regex
        self._description_parameters: Collection[DescriptionParameter] = ()
        self._hide_secrets(agent)
        self._servers = McpServers(
            agent.mcp_config,
            spec.working_dir,
            approvals,
            credential_for=secrets.credential_for,
            # If no user can answer, servers are told at the connection that they cannot ask.
            ask_user=ask_user if spec.request.ask_when_stuck else None,
        )
        self._adopt()

    def extend(self, spec: Spec, agent: Agent) -> None:
        """Adds the skills, sub-agents and MCP servers that `spec` and `agent` contain but this toolbox does
        not have yet. Raises pydantic.ValidationError if an MCP server's configuration is not valid.
        """
        self._hide_secrets(agent)
        self._servers.add(agent.mcp_config)
        self._context = replace(self._context, agent_definitions=sub_agents_of(spec.request))
        self._own = {**self._own, **_skill_reader(spec), **_delegating(spec, agent, self._context)}
        self._adopt()

    @property
    def lacks_keys(self) -> bool:
        return self._servers.have_lost_secrets

    def take_keys(self, agent: Agent) -> None:
        """Replaces the API keys of the MCP servers by the keys in the configuration `agent`. Reconnects to
        servers whose secrets have changed.
        """
        self._hide_secrets(agent)
        self._servers.replace(agent.mcp_config)

    def ask_about_calls(self, asked: Collection[DescriptionParameter]) -> None:
        """Adds fields to the schemas of the tools, in which the model describes each tool call, for example
        its risk. `asked`: the names of these fields. They replace the fields that an earlier call of this
        method has added. The tools' arguments stay unchanged.
        """
        self._description_parameters = asked
        self._adopt()

    def expect_changes(self) -> None:
        """Marks the tools of the MCP servers as possibly changed, so that the next call of `prepare` asks the
        servers for their tools again.
        """
        self._servers.expect_changes()

    async def prepare(self, *, asks: bool) -> dict[str, JsonValue] | None:
        """Asks the MCP servers for their tools, if the tools may have changed since the last call. `asks`:
        whether the user must approve tools that are new.

        Returns a dict from the name of each server to its tools, or to the error that makes the server
        unavailable. Returns None if nothing has changed.
        """
        if not self._servers.is_stale:
            return None
        before = self._servers.report
        await self._servers.refresh(self._own, asks=asks)
        self._adopt()
        return None if self._servers.report == before else self._servers.report

    async def close(self) -> None:
        """Closes the MCP servers and the tools. If one tool cannot be closed, the remaining tools are closed
        nevertheless.
        """
        await self._servers.close()
        for tool in self._own.values():
            try:
                await tool.close()
            except Exception:
                logger.exception("a tool cannot be closed", extra={"tool": tool.name})

    def _hide_secrets(self, agent: Agent) -> None:
        """Passes the secrets in the configuration of the MCP servers to the masker, an object that replaces
        secrets in every output by a mask. Raises pydantic.ValidationError if the configuration is not valid.
        """
        self._context.secrets.masker.learn(confidential_values(servers_of(agent.mcp_config)))

    def _wants(self, name: str) -> bool:
        return name in BUILT_IN or self._filter is None or self._filter.match(name) is not None

    def _adopt(self) -> None:
        tools: dict[str, AnyTool] = {**self._own, **self._servers.tools}
        self.tools: Mapping[str, AnyTool] = {name: tool for name, tool in tools.items() if self._wants(name)}
        self.schemas: Sequence[dict[str, JsonValue]] = [
            model_schema(tool, asked=self._description_parameters) for tool in self.tools.values()
        ]


def _skill_reader(spec: Spec) -> dict[str, AnyTool]:
    skills = {skill.name: skill.as_read() for skill in spec.project.of_type("agentskills")}
    return {InvokeSkillTool.name: InvokeSkillTool(skills)} if skills else {}


def _delegating(spec: Spec, agent: Agent, context: ToolContext) -> dict[str, AnyTool]:
    """Creates the tools that start sub-agents and returns them by name. Returns an empty dictionary if the
    agent's configuration contains no such tools. The descriptions of the tools list the available sub-agents.
    """
    wanted = [one for one in agent.tools if one.name == "task_tool_set"]
    return create_tools(wanted, context, spec.request.tool_module_qualnames)


def _make_tools(spec: Spec, agent: Agent, context: ToolContext) -> dict[str, AnyTool]:
    """Creates the agent's tools and returns them by name: the tools in the agent's configuration and the
    client tools (executed by a client). If there are skills, adds a tool that reads them. If the agent has a
    memory, adds tools for memory notes (texts for later conversations).
    """
    tools = create_tools(agent.tools, context, spec.request.tool_module_qualnames)
    for given in spec.request.client_tools:
        client_tool = ClientTool(ClientToolSpec.model_validate(given))
        if tools.setdefault(client_tool.name, client_tool) is not client_tool:
            raise ToolNotFoundError(f"Two tools are named {client_tool.name}: rename the client's.")
    tools |= _skill_reader(spec)
    if agent.agent_context is not None and agent.agent_context.load_memory:
        tools[MemorySearchTool.name] = MemorySearchTool(spec.working_dir)
        tools[MemoryWriteTool.name] = MemoryWriteTool(spec.working_dir, source=spec.id.hex)
    return tools
