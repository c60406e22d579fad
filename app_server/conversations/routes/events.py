"""Routes for the event log of a conversation: pages of events, and the live stream of new events."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, WebSocket
from fastapi.responses import Response

from app_server.access.authentication import authenticate_websocket
from app_server.access.credentials_in_use import CredentialEnded
from app_server.access.permissions import Permission
from app_server.conversations import service
from app_server.conversations.log import window
from app_server.conversations.routes.dependencies import SeenConversationId
from app_server.conversations.schemas import PlainText
from app_server.conversations.sharing.access import Access
from app_server.conversations.sharing.followers import AccessEnded
from app_server.conversations.view import Viewer
from app_server.core.database import Moment, ReadSession, ServerDatabase
from app_server.core.errors import BadRequest, NotFound
from app_server.core.pagination import Limit, PageId
from app_server.core.pubsub import Frame, ServerPubSub
from app_server.events import blobs, log, matches, stream, windows
from app_server.events.log import EventFilter, EventSortOrder
from app_server.events.open_streams import ServerOpenStreams
from app_server.events.schemas import EventWindow, FoundEvents
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
Position = Annotated[int, Query(ge=0, le=2**53)]
Full = Annotated[
    bool,
    Query(
        description="false: the events have references in place of images and of outputs over 64 KiB. "
        "Programs that do not know these references get complete events."
    ),
]
Words = Annotated[
    PlainText | None,
    Query(
        max_length=200,
        description="Words of the event's text, or beginnings of words. The event must have all of them.",
    ),
]
_HARMLESS = {
    # The content was written in a sandbox, so it must not run as a page of ours.
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    # The name of a part is its hash, so the content never changes.
    "Cache-Control": "private, max-age=31536000, immutable",
}


@router.get("/search", responses={200: {"model": FoundEvents}})
async def search_events(
    conversation_id: SeenConversationId,
    session: ReadSession,
    criteria: Criteria,
    sort_order: EventSortOrder = EventSortOrder.TIMESTAMP,
    page_id: PageId = None,
    limit: Limit = 100,
    full: Full = True,
    query: Words = None,
) -> Response:
    """Returns a page of the conversation's events. With `query`, returns only events that contain all words
    of `query`. In this case, `matches` in the reply contains the sequence number and the matching text
    passage of each returned event.

    `full`: if false, each image and the middle of each long output are left out, and a URL is given from
    which the client can read this part.
    """
    if query is not None:
        found = await matches.search(
            session,
            conversation_id,
            query,
            criteria,
            order=sort_order,
            page_id=page_id,
            limit=limit,
            full=full,
        )
        return _json(found)
    page = await log.search(
        session, conversation_id, criteria, order=sort_order, page_id=page_id, limit=limit, full=full
    )
    return _json(page)


@router.get("/count")
async def count_events(
    conversation_id: SeenConversationId, session: ReadSession, criteria: Criteria, query: Words = None
) -> int:
    if query is not None:
        return await matches.count(session, conversation_id, query, criteria)
    return await log.count(session, conversation_id, criteria)


@router.get("", responses={200: {"model": list[dict[str, Any] | None]}})
async def get_events(
    conversation_id: SeenConversationId,
    session: ReadSession,
    id: Annotated[list[Annotated[PlainText, Query(max_length=128)]], Query(max_length=100)],  # noqa: A002
    full: Full = True,
) -> Response:
    """Returns the events with these ids, in the order of the ids; null for an unknown id. `full`: if false,
    each image and the middle of each long output are replaced by a URL. 413 `events_too_large` if `full` is
    true and the events are too large together.
    """
    return _json(await log.batch(session, conversation_id, id, full=full))


@router.get("/blobs/{sha256}", response_class=Response, responses={200: {"content": {"*/*": {}}}})
async def get_blob(
    conversation_id: SeenConversationId,
    session: ReadSession,
    sha256: Annotated[PlainText, Path(max_length=64)],
) -> Response:
    """Returns one large part of an event, which is stored separately: the bytes of an image, or a text.
    `sha256`: the hash of this part, which the event contains. 404 `blob_not_found` if the conversation has no
    part with this hash.
    """
    blob = await blobs.find(session, conversation_id, sha256)
    if blob is None:
        raise NotFound("The conversation has no such part of an event.", code="blob_not_found")
    charset = "; charset=utf-8" if blob.media_type == blobs.TEXT else ""
    return Response(blob.content, headers={"Content-Type": blob.media_type + charset, **_HARMLESS})


@router.get("/window", responses={200: {"model": EventWindow}, 404: {"description": "No such event"}})
async def get_window(
    database: ServerDatabase,
    conversation_id: SeenConversationId,
    session: ReadSession,
    before_seq: Position | None = None,
    after_seq: Position | None = None,
    around_event_id: Annotated[PlainText | None, Query(min_length=1, max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=windows.MAX_EVENTS)] = 200,
) -> Response:
    """Returns a window of the event log: consecutive events, at most `limit` events and about 192 KiB (384
    KiB with `around_event_id`), but at least one event if the log has any.

    Without `before_seq`, `after_seq` and `around_event_id`, returns the newest events, and also the earlier
    events from which a client computes the settings, the task list and the open tool calls. With one of these
    three parameters, returns only the events before or after this sequence number, or around this event. 400
    `one_side_only` if more than one of the three is given. 404 `event_not_found` if there is no event with
    the id `around_event_id`.
    """
    if sum(position is not None for position in (before_seq, after_seq, around_event_id)) > 1:
        raise BadRequest(
            "Give one of before_seq, after_seq and around_event_id.",
            code="one_side_only",
            fix="Leave the others out.",
        )
    if around_event_id is not None:
        found = await windows.around(session, conversation_id, around_event_id, limit)
        return _json(window.to_json(found, None))
    if after_seq is not None:
        return _json(window.to_json(await windows.after(session, conversation_id, after_seq, limit), None))
    if before_seq is not None:
        return _json(window.to_json(await windows.before(session, conversation_id, before_seq, limit), None))
    state = await window.state_of(database, session, conversation_id)
    newest = await windows.newest(session, conversation_id, limit)
    return _json(window.to_json(newest, await window.state_frames(session, conversation_id, state, newest)))


@router.websocket("/stream")
async def stream_events(
    database: ServerDatabase,
    sandboxes: ServerSandboxes,
    open_streams: ServerOpenStreams,
    pubsub: ServerPubSub,
    websocket: WebSocket,
    conversation_id: str,
    after_seq: str = "0",
    window_events: Annotated[str, Query(alias="window")] = "0",
) -> None:
    """Streams the events of a conversation over a WebSocket, as frames (messages, see docs/protocol.md §2).

    `after_seq`: the position of the last event that the client already has; only later events are sent. 0
    means that the client has no events. `window`: only with `after_seq` 0, how many of the newest events are
    sent; 0 means all events.

    If the request is refused, the server first accepts the connection and then closes it with an error,
    because browsers cannot read errors of the WebSocket handshake.
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
        most_events = min(_position(window_events, "window"), windows.MAX_EVENTS)
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

    async def opening() -> tuple[int, Frame]:
        return await window.opening(database, conversation.id, most_events)

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
                opening=opening if position == 0 and most_events else None,
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


def _position(text: str, name: str = "after_seq") -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise NotFound(f"{name} is not a position.", code=f"bad_{name}")
    return int(text)


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")
