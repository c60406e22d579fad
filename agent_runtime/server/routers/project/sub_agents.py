"""The route that lists the sub-agents to which an agent can delegate tasks."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from agent_runtime.context.sub_agents import LeftOut, SubAgent, find_sub_agents
from agent_runtime.plugins.sub_agent_parts import checked
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.router import Router

router = Router(prefix="/api", tags=["sub-agents"])


class SubAgentsRequest(BaseModel):
    load_user: bool = True
    load_project: bool = True
    load_builtin: bool = True
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class SubAgentsResponse(BaseModel):
    """The reply of POST /api/sub-agents: the sub-agents that an agent can use.

    `report`: the files that are not used, or used only in part, each with the reason.
    """

    agents: list[SubAgent]
    report: list[LeftOut] = []


@router.post("/sub-agents")
async def list_sub_agents(wanted: SubAgentsRequest) -> SubAgentsResponse:
    """Returns the sub-agents that the project's files define, then those that the user's files define, then
    the built-in sub-agents.

    The request says which of these three groups to return. If two sub-agents have the same name, only the
    first one in this order is returned.
    """
    project = Path(wanted.project_dir) if wanted.project_dir and wanted.load_project else None
    if project is not None and not project.is_absolute():
        raise ServerProblem(422, "validation_failed", "project_dir must be an absolute path.")
    home = Path.home() if wanted.load_user else None
    agents, left_out = await asyncio.to_thread(
        find_sub_agents, [project] if project else [], home, with_built_in=wanted.load_builtin
    )
    return SubAgentsResponse(agents=agents, report=[*left_out, *_about_commands(agents)])


def _about_commands(agents: Sequence[SubAgent]) -> Iterator[LeftOut]:
    for agent in agents:
        usable, reasons = checked(agent)
        if usable.level == "project" and usable.runs_commands:
            reasons.append("its hooks and MCP servers are used only with the user's consent")
        yield from (LeftOut(path=agent.source, reason=reason) for reason in reasons)
