"""The tools of one conversation."""

import logging
from collections.abc import Iterable
from pathlib import Path

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.spec import Spec
from agent_runtime.tools.invoke_skill import InvokeSkillTool
from agent_runtime.tools.registry import create_tools
from agent_runtime.tools.tool import AnyTool, ToolContext

logger = logging.getLogger(__name__)


def make_tools(spec: Spec, agent: Agent, state_dir: Path) -> dict[str, AnyTool]:
    """The agent's, and the one that reads skills if there are any to read. ToolNotFoundError."""
    context = ToolContext(working_dir=spec.working_dir, state_dir=state_dir)
    tools = create_tools(agent.tools, context, spec.request.tool_module_qualnames)
    skills = {skill.name: skill for skill in spec.project.of_type("agentskills")}
    return {**tools, **({InvokeSkillTool.name: InvokeSkillTool(skills)} if skills else {})}


async def close_tools(tools: Iterable[AnyTool]) -> None:
    """Gives back what they hold. One that fails, as others' may, does not keep the rest."""
    for tool in tools:
        try:
            await tool.close()
        except Exception:
            logger.exception("a tool cannot be closed", extra={"tool": tool.name})
