"""The route that makes a conversation from an exported zip file."""

from fastapi import APIRouter, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.conversations.imports import import_conversation
from app_server.conversations.live.change_notices import channels_of, tell
from app_server.conversations.routes.dependencies import Viewer
from app_server.conversations.schemas import AppConversation
from app_server.core.client_concurrency import Turns
from app_server.core.database import ServerDatabase
from app_server.core.errors import NotFound, TooManyRequests
from app_server.core.pubsub import ServerPubSub

router = APIRouter(prefix="/api/v1/app-conversations", tags=["Conversations"])

_BODY = {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}, "required": True}
# An import can take some hundred megabytes of memory, so a user has one at a time. A second one is refused.
_imports = Turns(1)


@router.post("/import", status_code=201, openapi_extra={"requestBody": _BODY})
async def import_exported_conversation(
    user: CurrentUser,
    trail: CurrentTrail,
    viewer: Viewer,
    database: ServerDatabase,
    pubsub: ServerPubSub,
    request: Request,
) -> AppConversation:
    """Imports a conversation from an exported zip file, which the route `download` returns. The imported
    conversation can be read and shared. It has no sandbox, so messages to it are refused with 409
    `conversation_imported`.

    422 `not_an_export` if the file is not an exported conversation, has more than 20,000 events, or contains
    more than 64 MB of unpacked data. 413 `import_too_many_values` if one event has more than 500,000 JSON
    values or all events have more than 2,000,000. 429 `import_running` if another import of the user has not
    ended.
    """
    turn = _imports.of(user.id)
    if turn.locked():
        raise TooManyRequests(
            "Another import of yours has not ended. Import the file again when it has ended.",
            code="import_running",
        )
    async with turn:
        conversation_id = await import_conversation(database, user, trail, await request.body())
    async with database.read() as session:
        shown = await viewer.find(session, conversation_id, user_id=user.id)
        channels = await channels_of(session, conversation_id)
    if shown is None:
        raise NotFound("No such conversation.")
    tell(pubsub, channels, conversation_id)
    return shown
