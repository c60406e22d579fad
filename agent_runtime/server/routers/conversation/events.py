"""Routes that read the events in a conversation's log and add messages."""

from enum import StrEnum
from typing import Annotated, Any

import orjson
from fastapi import Body, Depends, Query, Response

from agent_runtime.conversation.event_log.log import Filter, LogReader
from agent_runtime.events.union import parse_event
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.conversation.conversations import check_size, deliver
from agent_runtime.server.routers.dependencies import ConversationLog, LoadedConversation
from agent_runtime.server.routers.moments import LocalMoment
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import SendMessageRequest, Success

router = Router(prefix="/api/conversations/{conversation_id}/events", tags=["events"])

MAX_PAGE = 100


class EventSortOrder(StrEnum):
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_DESC = "TIMESTAMP_DESC"


async def _filter(
    kind: str | None = None,
    source: str | None = None,
    body: str | None = None,
    timestamp__gte: LocalMoment | None = None,
    timestamp__lt: LocalMoment | None = None,
) -> Filter:
    return Filter(
        kind=kind.rsplit(".", 1)[-1] if kind else None,
        source=source,
        text=body,
        from_timestamp=local_timestamp(timestamp__gte),
        before_timestamp=local_timestamp(timestamp__lt),
    )


Wanted = Annotated[Filter, Depends(_filter)]


@router.get("/search")
async def search(
    log: ConversationLog,
    wanted: Wanted,
    page_id: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
    sort_order: EventSortOrder = EventSortOrder.TIMESTAMP,
) -> Response:
    """Returns a page of events as they are stored, without null fields.

    `page_id`: the id of the event with which the page begins.
    """
    from_seq = _seq(log, page_id) if page_id else None
    descending = sort_order is EventSortOrder.TIMESTAMP_DESC
    records, next_id = log.search(wanted, from_seq=from_seq, descending=descending, limit=limit)
    items = b",".join(record.body for record in records)
    return _json(b'{"items":[' + items + b'],"next_page_id":' + orjson.dumps(next_id) + b"}")


@router.get("/count")
async def count(log: ConversationLog, wanted: Wanted) -> int:
    return log.count(wanted)


@router.get("")
async def get_many(
    log: ConversationLog, ids: Annotated[list[str], Body(max_length=MAX_PAGE)]
) -> list[dict[str, Any] | None]:
    """Returns the events with these ids, in the same order; null for each id that does not exist."""
    records = [log.get(event_id) for event_id in ids]
    return [orjson.loads(record.body) if record else None for record in records]


@router.get("/{event_id}")
async def get(log: ConversationLog, event_id: str) -> dict[str, Any]:
    record = log.get(event_id)
    if record is None:
        raise _not_found(event_id)
    return parse_event(record.body).model_dump(mode="json")


@router.post("")
async def send(conversation: LoadedConversation, message: SendMessageRequest) -> Success:
    """Adds a message to the conversation. If the conversation already has a message with the same `id`, the
    request succeeds and changes nothing.
    """
    check_size(message)
    deliver(conversation, message)
    return Success()


def local_timestamp(moment: LocalMoment | None) -> str | None:
    """Converts a time to the format of events' timestamps: local time without a zone, with microseconds.
    Returns None if `moment` is None.
    """
    return None if moment is None else moment.isoformat(timespec="microseconds")


def _seq(log: LogReader, event_id: str) -> int:
    seq = log.seq_of(event_id)
    if seq is None:
        raise _not_found(event_id)
    return seq


def _not_found(event_id: str) -> ServerProblem:
    return ServerProblem(404, "event_not_found", f"There is no event {event_id[:128]}.")


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
