"""The route that returns the event logs of a conversation's sub-agents, which are stored in the sandbox."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from app_server.access.authentication import CurrentUser
from app_server.agent_client.replies import EventPage
from app_server.conversations.models import Conversation
from app_server.conversations.routes.dependencies import SeenWorkplace
from app_server.conversations.schemas import PlainText
from app_server.conversations.sharing.access import Access, require_access
from app_server.core.database import ServerDatabase

router = APIRouter(
    prefix="/api/v1/app-conversations/{conversation_id}/sub-conversations", tags=["Conversations"]
)


@router.get(
    "/{sub_conversation_id}/events", responses={404: {"description": "It has no such sub-conversation"}}
)
async def sub_conversation_events(
    database: ServerDatabase,
    user: CurrentUser,
    workplace: SeenWorkplace,
    sub_conversation_id: UUID,
    page_id: Annotated[PlainText | None, Query(min_length=1, max_length=128)] = None,
) -> EventPage:
    """Returns a page of the event log of one sub-agent, oldest event first. `sub_conversation_id`: the id of
    the sub-agent's event log. `page_id`: the id of the page; null for the first page.
    """
    async with database.read() as session:
        # The id may belong to another conversation in the same sandbox, which has its own owner.
        if await session.get(Conversation, sub_conversation_id) is not None:
            await require_access(session, user.id, sub_conversation_id, Access.VIEW)
    return await workplace.client.events(sub_conversation_id, page_id)
