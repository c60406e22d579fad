"""Routes for lists of conversations: the values to filter by, and one change to many conversations."""

from fastapi import APIRouter, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.conversations import listing
from app_server.conversations.changes import BatchResults, ConversationBatch, ConversationChanges
from app_server.conversations.routes.dependencies import Linked, Viewer
from app_server.conversations.schemas import FilterChoices
from app_server.core.database import ReadSession

router = APIRouter(prefix="/api/v1/app-conversations", tags=["Conversations"])


@router.get("/filter-choices")
async def get_filter_choices(user: CurrentUser, session: ReadSession) -> FilterChoices:
    """Returns the models, branches and owners that the search can filter by: of the conversations that the
    user may see, at most 200 each, those with the most conversations.
    """
    return await listing.filter_choices(session, user.id)


@router.post("/batch")
async def change_conversations(
    user: CurrentUser,
    trail: CurrentTrail,
    viewer: Viewer,
    links: Linked,
    body: ConversationBatch,
    request: Request,
) -> BatchResults:
    """Archives, brings back, deletes or tags up to 100 conversations of the user.

    Each is changed by itself: the reply is 200 also if some were not changed, and each of their results has a
    `problem`. 409 `too_many_tags` is among these.
    """
    results = await ConversationChanges(request.state, viewer, user, trail).batch(body)
    for result in results:
        if result.conversation is not None:
            result.conversation = links.on(result.conversation)
    return BatchResults(results=results)
