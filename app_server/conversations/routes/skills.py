"""The route for the skills, instructions and notes that the agent of a conversation has. It also returns why
each of them was chosen or left out.
"""

from uuid import UUID

from fastapi import APIRouter

from agent_runtime.wire import SkillsResponse
from app_server.conversations.routes.dependencies import OwnedWorkplace

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@router.get("/skills")
async def get_conversation_skills(place: OwnedWorkplace, conversation_id: UUID) -> SkillsResponse:
    """Returns the skills that were found when the conversation began. `report`: every file that was examined,
    with the reason why it is used or not.
    """
    return await place.client.skills(conversation_id)
