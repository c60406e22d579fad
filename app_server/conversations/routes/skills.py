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
    """Returns the skills that were found when the conversation began. `report` names the files that were
    found. For each file, it says whether the agent uses the file, and why.
    """
    return await workplace.client.skills(conversation_id)
