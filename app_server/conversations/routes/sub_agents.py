"""Route for the logs of a conversation's sub-agents, which are stored in its sandbox."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from app_server.agent_client.replies import EventPage
from app_server.conversations.routes.dependencies import OwnedWorkplace
from app_server.conversations.schemas import PlainText

router = APIRouter(
    prefix="/api/v1/app-conversations/{conversation_id}/sub-conversations", tags=["Conversations"]
)


@router.get(
    "/{sub_conversation_id}/events", responses={404: {"description": "It has no such sub-conversation"}}
)
async def sub_conversation_events(
    place: OwnedWorkplace,
    sub_conversation_id: UUID,
    page_id: Annotated[PlainText | None, Query(min_length=1, max_length=128)] = None,
) -> EventPage:
    """Returns a page of a sub-agent's log, oldest first."""
    return await place.client.events(sub_conversation_id, page_id)
