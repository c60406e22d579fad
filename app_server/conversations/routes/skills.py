"""The route that returns which skills, instruction files and notes the agent of a conversation uses. It also
returns why each of them was used or left out.
"""

from uuid import UUID

from fastapi import APIRouter

from agent_runtime.wire import SkillsResponse
from app_server.conversations.routes.dependencies import OwnedWorkplace

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@router.get("/skills")
async def get_conversation_skills(workplace: OwnedWorkplace, conversation_id: UUID) -> SkillsResponse:
    """Returns the skills that were loaded when the conversation began. The field `report` also lists the
    files and directories from which no skill was loaded. For each entry, it says whether a skill was loaded,
    and why.
    """
    return await workplace.client.skills(conversation_id)
