"""Builds the request that starts a sub-agent. The request gives the sub-agent at most the rights of the agent
that starts it, even if the sub-agent's definition asks for more. Has no side effects.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from agent_runtime.agent.agent import Agent
from agent_runtime.context.skills import NO_CONTEXT, AgentContext
from agent_runtime.context.sub_agents import SubAgent
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.unmasked_keys import revealed
from agent_runtime.delegation.hooks_and_servers import Commands
from agent_runtime.delegation.tool_names import Equipment
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM
from agent_runtime.wire import StartConversationRequest, WorkingDirectory

MAX_TITLE_CHARS = 200

_STRICTNESS = {"NeverConfirm": 0, "ConfirmRisky": 1, "AlwaysConfirm": 2}
_MODES = {"always_confirm": "AlwaysConfirm", "confirm_risky": "ConfirmRisky"}


@dataclass(frozen=True)
class Brief:
    """The data from which the request that starts a sub-agent is built.

    `definition`: the sub-agent's definition, without the hooks and MCP servers that the user has not
    approved. `equipment`: the sub-agent's tools. `llm`: the sub-agent's model. `budget`: the dollars that the
    sub-agent may spend; None means no limit. `working_dir`: the working directory of the sub-agent.
    `commands`: the hooks and MCP servers of the sub-agent.
    """

    definition: SubAgent
    equipment: Equipment
    llm: LLM
    budget: float | None
    conversation_id: UUID
    title: str
    working_dir: Path
    commands: Commands


def request_of(parent: ConversationEngine, brief: Brief) -> StartConversationRequest:
    """Returns the request that starts a sub-agent. It is a copy of the request that created the parent
    conversation. The copy contains changes that were made after the parent's creation (such as a new model),
    and is limited to what the sub-agent's definition allows.
    """
    now, definition = parent.info(), brief.definition
    return parent.spec.request.model_copy(
        update={
            "agent": revealed(_agent(parent, brief)),
            "hook_config": brief.commands.hooks,
            "workspace": WorkingDirectory(working_dir=str(brief.working_dir)),
            "worktree": False,
            "worktree_options": None,
            "conversation_id": brief.conversation_id,
            "parent_conversation_id": parent.id,
            "initial_message": None,
            "title": brief.title[:MAX_TITLE_CHARS],
            "autotitle": False,
            "tags": {},
            # The client does not know the sub-agent's conversation and will not answer its calls.
            "client_tools": [],
            "ask_when_stuck": False,
            "max_iterations": definition.max_iteration_per_run or parent.spec.request.max_iterations,
            "confirmation_policy": stricter(now.confirmation_policy, definition.permission_mode),
            "security_analyzer": now.security_analyzer,
            "secrets": {},
        }
    )


def stricter(policy: JsonObject, mode: str | None) -> JsonObject:
    """Returns the stricter of two confirmation policies for a sub-agent: the one with which the sub-agent
    must ask the user more often. So a sub-agent cannot have more freedom than its parent.

    `policy`: the policy of the parent. `mode`: the permission mode in the sub-agent's definition, to which
    the second policy belongs. If it is None or unknown, returns `policy`.
    """
    kind = _MODES.get((mode or "").lower())
    if kind is None or _STRICTNESS[kind] <= _STRICTNESS.get(str(policy.get("kind")), 0):
        return policy
    return {"kind": kind}


def _agent(parent: ConversationEngine, brief: Brief) -> Agent:
    """Returns the agent configuration for the sub-agent. If the definition names tools, the sub-agent has
    only these tools and the definition's MCP servers. If the definition names no tools, the sub-agent has the
    tools and MCP servers of the parent's agent, and also the definition's MCP servers.
    """
    own, definition = parent.agent, brief.definition
    changes: dict[str, Any] = {
        "llm": brief.llm.model_copy(update={"max_budget_per_task": brief.budget}),
        "tools": list(brief.equipment.tools),
        "agent_context": _context(parent, brief),
        "critic": None,
        "system_prompt": None,
        "mcp_config": brief.commands.servers,
    }
    if definition.tools:
        changes |= {"filter_tools_regex": None}
    return own.model_copy(update=changes)


def _context(parent: ConversationEngine, brief: Brief) -> AgentContext:
    context = parent.agent.agent_context or NO_CONTEXT
    definition = brief.definition
    unnamed = [
        skill.name
        for skill in parent.spec.project.skills
        if skill.type != "repo" and skill.name not in definition.skills
    ]
    lacking = (
        "These tools of yours do not exist here; say so if the task needs them: "
        f"{', '.join(brief.equipment.missing)}."
        if brief.equipment.missing
        else ""
    )
    suffixes = (context.system_message_suffix, definition.system_prompt, lacking)
    return context.model_copy(
        update={
            "system_message_suffix": "\n\n".join(text for text in suffixes if text),
            # Only the caller writes notes, because it knows the purpose of the work.
            "load_memory": False,
            "disabled_skills": [*context.disabled_skills, *(unnamed if definition.skills else [])],
        }
    )
