"""Routes for the log of a conversation: pages of events, and the live stream."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, WebSocket
from fastapi.responses import Response

from app_server.access.authentication import authenticate_websocket
from app_server.access.credentials_in_use import CredentialEnded
from app_server.access.permissions import Permission
from app_server.conversations import service
from app_server.conversations.routes.dependencies import SeenConversationId
from app_server.conversations.schemas import PlainText
from app_server.conversations.sharing.access import Access
from app_server.conversations.sharing.followers import AccessEnded
from app_server.conversations.view import Viewer
from app_server.core.database import ReadSession, ServerDatabase
from app_server.core.errors import NotFound
from app_server.core.pagination import Limit, Page, PageId
from app_server.core.pubsub import Frame, ServerPubSub
from app_server.events import log, stream
from app_server.events.log import EventFilter, EventSortOrder
from app_server.events.open_streams import ServerOpenStreams
from app_server.events.schemas import Moment
from app_server.http.middleware import SUBPROTOCOL
from app_server.sandboxes.service import ServerSandboxes

router = APIRouter(prefix="/api/v1/conversation/{conversation_id}/events", tags=["Events"])


def _filter(
    kind__eq: Annotated[PlainText | None, Query(max_length=100)] = None,
    timestamp__gte: Moment | None = None,
    timestamp__lt: Moment | None = None,
) -> EventFilter:
    return EventFilter(kind__eq, timestamp__gte, timestamp__lt)


Criteria = Annotated[EventFilter, Depends(_filter)]


@router.get("/search", responses={200: {"model": Page[dict[str, Any]]}})
async def search_events(
    conversation_id: SeenConversationId,
    session: ReadSession,
    criteria: Criteria,
    sort_order: EventSortOrder = EventSortOrder.TIMESTAMP,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Response:
    page = await log.search(
        session, conversation_id, criteria, order=sort_order, page_id=page_id, limit=limit
    )
    return _json(page)


@router.get("/count")
async def count_events(conversation_id: SeenConversationId, session: ReadSession, criteria: Criteria) -> int:
    return await log.count(session, conversation_id, criteria)


@router.get("", responses={200: {"model": list[dict[str, Any] | None]}})
async def get_events(
    conversation_id: SeenConversationId,
    session: ReadSession,
    id: Annotated[list[Annotated[PlainText, Query(max_length=128)]], Query(max_length=100)],  # noqa: A002
) -> Response:
    """Returns one entry for each id; null for an unknown id."""
    return _json(await log.batch(session, conversation_id, id))


@router.websocket("/stream")
async def stream_events(
    database: ServerDatabase,
    sandboxes: ServerSandboxes,
    open_streams: ServerOpenStreams,
    pubsub: ServerPubSub,
    websocket: WebSocket,
    conversation_id: str,
    after_seq: str = "0",
) -> None:
    """Streams the frames of docs/protocol.md §2. Errors are sent after the handshake, where browsers can read
    them.
    """
    signed_in = await authenticate_websocket(websocket)
    # Browsers end a connection for which they offered subprotocols and none was selected.
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in websocket.scope["subprotocols"] else None)
    if signed_in is None:
        await stream.close(
            websocket, stream.NOT_AUTHENTICATED, error="not_authenticated", detail="Sign in first."
        )
        return
    try:
        position = _position(after_seq)
        async with database.read() as session:
            conversation = await service.require(
                session, signed_in.user.id, _uuid(conversation_id), Access.VIEW
            )
    except NotFound as error:
        await stream.close(websocket, stream.NO_SUCH_CONVERSATION, error=error.code, detail=error.detail)
        return
    if not open_streams.admit(signed_in.user.id, websocket):
        detail = "You follow too many conversations at once. Close some pages."
        await stream.close(websocket, stream.TRY_LATER, error="too_many_streams", detail=detail)
        return
    viewer = Viewer(sandboxes)

    async def greeting() -> list[Frame]:
        async with database.read() as session:
            return await viewer.frames(session, conversation.id)

    try:
        async with (
            websocket.state.credentials_in_use.hold(signed_in.credential, Permission.READ),
            websocket.state.followers.hold(signed_in.user.id, conversation),
        ):
            await stream.serve(
                websocket,
                database=database,
                pubsub=pubsub,
                conversation_id=conversation.id,
                after_seq=position,
                greeting=greeting,
            )
    except AccessEnded:
        detail = "The conversation is no longer shared with you."
        await stream.close(websocket, stream.NO_SUCH_CONVERSATION, error="access_ended", detail=detail)
    except CredentialEnded:
        await stream.close(
            websocket, stream.NOT_AUTHENTICATED, error="not_authenticated", detail="You are signed out."
        )


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("No such conversation.") from None


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise NotFound("after_seq is not a position.", code="bad_after_seq")
    return int(text)


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")
