"""The configuration of an agent: its model, tools and prompt, and how its work is summarized and judged."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from agent_runtime.agent.critic import Critic
from agent_runtime.context.condense import Condenser
from agent_runtime.context.environment_facts import surroundings
from agent_runtime.context.git_state import GitState
from agent_runtime.context.skills import NO_CONTEXT, AgentContext, ProjectContext, render_project_context
from agent_runtime.context.system_prompt import render, render_system_prompt
from agent_runtime.events.content import TextContent
from agent_runtime.events.message import SystemPromptEvent
from agent_runtime.llm.config import LLM
from agent_runtime.llm.known_fields import KnownFieldsOnly
from agent_runtime.tools.registry import ToolSpec
from agent_runtime.tools.tool import AnyTool


class Agent(KnownFieldsOnly):
    """The configuration of an agent, such as its model and its tools. It cannot be changed after its
    creation. If a client's request contains fields that this class does not define, they are stored
    unchanged.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    llm: LLM
    tools: list[ToolSpec] = []
    mcp_config: dict[str, Any] = Field(default={}, description="MCP servers by name")
    filter_tools_regex: re.Pattern[str] | None = Field(
        default=None, description="Only tools whose name it matches"
    )
    include_default_tools: list[str] = Field(
        default=["FinishTool", "ThinkTool"],
        description="Clients of the protocol look for it. It has no effect: every agent has these two",
    )
    system_prompt: str | None = None
    agent_context: AgentContext | None = None
    condenser: Condenser | None = None
    critic: Critic | None = None
    tool_concurrency_limit: int = Field(default=1, ge=1)
    kind: Literal["Agent"] = "Agent"


def system_prompt_event(
    agent: Agent,
    tools: Mapping[str, AnyTool],
    project: ProjectContext,
    *,
    working_dir: Path,
    secrets: Mapping[str, str | None],
    git: GitState | None = None,
) -> SystemPromptEvent:
    """Returns the first event of a conversation's event log, which contains the system prompt and the tools.

    `tools`: the agent's tools by name. `project`: the instructions and skills that were found for the agent.
    `working_dir`: the directory in which the agent works; the default prompt names it. `secrets`: the
    description of each secret, by the secret's name; None means that the secret has no description. `git`:
    the state of the repository; None means that there is no repository or that its state is not known.
    """
    # An agent with its own system prompt may do another kind of work, so it gets no facts about the
    # workspace.
    here = (
        "" if agent.system_prompt else render("surroundings.j2", here=surroundings(working_dir, git)).strip()
    )
    parts = (
        agent.system_prompt or render_system_prompt(working_dir=str(working_dir)),
        render_project_context(project),
        render("secrets.j2", secrets=secrets).strip(),
        # These facts come after the parts that conversations have in common, because the vendor's cache only
        # serves equal beginnings.
        here,
        (agent.agent_context or NO_CONTEXT).system_message_suffix,
    )
    text = "\n\n".join(part for part in parts if part)
    described = [_description(tool) for tool in tools.values()]
    return SystemPromptEvent(system_prompt=TextContent(text=text), tools=described)


def secrets_of(agent: Agent) -> Mapping[str, Any]:
    """Returns the secrets that a client has sent inside the agent's configuration, in the field `secrets` of
    its `agent_context`. The result maps each secret's name to the secret as it was sent. It is empty if there
    are no secrets.
    """
    given = (agent.agent_context or NO_CONTEXT).model_extra or {}
    return given.get("secrets") or {}


def _description(tool: AnyTool) -> dict[str, object]:
    return {
        "description": tool.description,
        "action_type": tool.action_type.wire_kind(),
        "observation_type": tool.observation_type.__name__,
        "annotations": tool.annotations.model_dump(exclude_none=True),
        **tool.reported(),
        "kind": tool.kind,
        "title": tool.title,
    }
