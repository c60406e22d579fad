"""Routes for lists of conversations: what their filters can be set to."""

from fastapi import APIRouter

from app_server.access.authentication import CurrentUser
from app_server.conversations import listing
from app_server.conversations.schemas import FilterChoices
from app_server.core.database import ReadSession

router = APIRouter(prefix="/api/v1/app-conversations", tags=["Conversations"])


@router.get("/filter-choices")
async def get_filter_choices(user: CurrentUser, session: ReadSession) -> FilterChoices:
    """Returns the models, branches and owners that the search can filter by: of the conversations that the
    user may see, at most 200 each, those with the most conversations.
    """
    return await listing.filter_choices(session, user.id)
