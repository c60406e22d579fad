"""Routes that show the skills of a project (texts with instructions for an agent), and why each skill was
loaded or not.
"""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from agent_runtime.context.discover import discover
from agent_runtime.context.skills import AgentContext, ProjectContext
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import SkillFinding, SkillInfo, SkillInputInfo, SkillsRequest, SkillsResponse

router = Router(prefix="/api", tags=["skills"])


async def _workspace(request: Request) -> Path:
    path: Path = request.app.state.config.workspace_path
    return path


@router.post("/skills")
async def find(wanted: SkillsRequest, workspace: Annotated[Path, Depends(_workspace)]) -> SkillsResponse:
    """Returns the skills of a project directory, the skills of the user on this machine, and why skills were
    not loaded.

    Skills of the organisation and public skills are not included, because the app server sends these skills
    when it creates a conversation.
    """
    directory = Path(wanted.project_dir) if wanted.project_dir else workspace
    if not directory.is_absolute():
        raise ServerProblem(422, "validation_failed", "project_dir must be an absolute path.")
    asked = AgentContext(load_project_skills=wanted.load_project, load_user_skills=wanted.load_user)
    return _response(await asyncio.to_thread(discover, asked, directory))


@router.get("/conversations/{conversation_id}/skills")
async def of_conversation(conversation: LoadedConversation) -> SkillsResponse:
    """Returns the skills that were found for the agent of this conversation when the conversation was
    created.
    """
    return _response(conversation.spec.project)


def _response(found: ProjectContext) -> SkillsResponse:
    return SkillsResponse(
        skills=[
            SkillInfo(
                name=skill.name,
                type=skill.type,
                content=skill.content,
                triggers=list(skill.triggers),
                inputs=[SkillInputInfo.model_validate(one.model_dump()) for one in skill.inputs],
                paths=list(skill.paths),
                source=skill.source,
                description=skill.description,
                is_agentskills_format=skill.type == "agentskills",
                disable_model_invocation=bool(skill.paths),
            )
            for skill in found.skills
        ],
        sources=dict(Counter(skill.origin for skill in found.skills)),
        report=[SkillFinding.model_validate(one.model_dump()) for one in found.findings],
    )
