"""What a conversation's agent knows: skills, instructions and notes, and why (or why not)."""

from uuid import UUID

from fastapi import APIRouter

from agent_runtime.wire import SkillsResponse
from app_server.conversations.routes.dependencies import OwnedWorkplace

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@router.get("/skills")
async def get_conversation_skills(place: OwnedWorkplace, conversation_id: UUID) -> SkillsResponse:
    """As it was found when the conversation began. `report` tells of every file that was looked at."""
    return await place.client.skills(conversation_id)
