"""The route that returns the skills, instructions and notes of a conversation's agent, and why each was
chosen or left out.
"""

from uuid import UUID

from fastapi import APIRouter

from agent_runtime.wire import SkillsResponse
from app_server.conversations.routes.dependencies import OwnedWorkplace

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@router.get("/skills")
async def get_conversation_skills(place: OwnedWorkplace, conversation_id: UUID) -> SkillsResponse:
    """Returns the skills as they were found when the conversation began. `report` lists every file that was
    examined.
    """
    return await place.client.skills(conversation_id)
