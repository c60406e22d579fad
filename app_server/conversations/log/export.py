"""Exports a conversation as a file: a zip of its events, a Markdown document for people, or a JSON document
in the Agent Trajectory Interchange Format (ATIF).

The exports are made from the event log in SQL. So a conversation can be exported while its sandbox is asleep,
archived or lost.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

import orjson

from agent_runtime.events.atif_writer import AtifWriter
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import parse_event
from agent_runtime.streamed_zip import StreamedZip
from app_server.conversations.log.markdown import heading_of, markdown_of
from app_server.conversations.schemas import AppConversation
from app_server.core.database import Database
from app_server.core.version import VERSION
from app_server.events import log

_PAGE = 50
"""The number of events that one database query reads. The number is small because an event can be as large as
one megabyte.
"""


async def zip_chunks(database: Database, conversation: AppConversation) -> AsyncIterator[bytes]:
    """Yields the parts of a zip file with the conversation's events. The zip file contains `meta.json` and
    one file `event_<position>_<id>.json` for each event. The file names are the same as in the exports of
    OpenHands V1, whose protocol Slipway's clients use.
    """
    zipped = StreamedZip()
    zipped.add("meta.json", conversation.model_dump_json(indent=2))
    position = 0
    async for bodies in _pages(database, conversation.id, conversation.last_seq):
        # Compressing takes the time of many requests.
        await asyncio.to_thread(_add_events, zipped, position, bodies)
        position += len(bodies)
        for chunk in zipped.take():
            yield chunk
    for chunk in zipped.close():
        yield chunk


async def markdown_chunks(database: Database, conversation: AppConversation) -> AsyncIterator[str]:
    """Yields the parts of a Markdown document with the conversation. Events that were undone because the user
    went back to an earlier point are left out.
    """
    branch_event_ids = await _current_branch(database, conversation.id, conversation.last_seq)
    yield heading_of(conversation)
    async for bodies in _pages(database, conversation.id, conversation.last_seq):
        yield await asyncio.to_thread(_to_markdown, bodies, branch_event_ids)


async def atif_chunks(database: Database, conversation: AppConversation) -> AsyncIterator[bytes]:
    """Yields the parts of a JSON document with the conversation in the Agent Trajectory Interchange Format,
    version 1.7. Leaves out events that the user has undone by going back to an earlier point. The total costs
    in the document include the costs of these undone events.
    """
    branch_event_ids = await _current_branch(database, conversation.id, conversation.last_seq)
    writer = AtifWriter(
        str(conversation.id), version=VERSION, model=conversation.llm_model, moment_of=_moment_of
    )
    yield writer.begin()
    async for bodies in _pages(database, conversation.id, conversation.last_seq):
        yield await asyncio.to_thread(_to_atif, writer, bodies, branch_event_ids)
    yield writer.end()


async def _pages(database: Database, conversation_id: UUID, last_seq: int) -> AsyncIterator[list[str]]:
    """Yields the conversation's events up to the position `last_seq`, in several lists of JSON texts.

    Raises RuntimeError if the conversation is deleted during the export. The error aborts the export, so that
    the user does not get an incomplete file that looks complete.
    """
    done = 0
    while done < last_seq:
        async with database.read() as session:
            limit = min(_PAGE, last_seq - done)
            bodies = await log.read_bodies(session, conversation_id, from_seq=done + 1, limit=limit)
        if not bodies:
            raise RuntimeError("The conversation was deleted while it was exported.")
        yield bodies
        done += len(bodies)


def _add_events(zipped: StreamedZip, position: int, bodies: Sequence[str]) -> None:
    for number, body in enumerate(bodies, start=position):
        event_id = "".join(c if c.isalnum() or c in "-_." else "_" for c in orjson.loads(body)["id"])
        zipped.add(f"event_{number:06d}_{event_id}.json", body)


async def _current_branch(database: Database, conversation_id: UUID, last_seq: int) -> set[str]:
    """Returns the ids of the conversation's events up to the position `last_seq`, without the events that
    were undone because the user went back to an earlier point.
    """
    parents: dict[str, str | None] = {}
    leaf: str | None = None
    async for bodies in _pages(database, conversation_id, last_seq):
        leaf = await asyncio.to_thread(_note_parents, bodies, parents, leaf)
    branch_event_ids: set[str] = set()
    while leaf is not None and leaf not in branch_event_ids:
        branch_event_ids.add(leaf)
        leaf = parents.get(leaf)
    return branch_event_ids


def _note_parents(bodies: Sequence[str], parents: dict[str, str | None], leaf: str | None) -> str | None:
    """Reads one page of the log. Adds each event to the dict `parents`: the key is the id of the event, the
    value is the id of its parent. `bodies`: the events of the page, as JSON texts.

    Returns the id of the newest event that the user has not undone by going back to an earlier point; None if
    there is no such event. From this event, the caller follows the parents to find all events that were not
    undone. `leaf`: the id that this function returned for the page before; None for the first page.
    """
    for body in bodies:
        event = orjson.loads(body)
        if event["kind"] != "ConversationStateUpdateEvent":
            parents[event["id"]] = event.get("parent_id")
            leaf = event["id"]
        elif event.get("key") == "leaf_event_id":
            leaf = event["value"]
    return leaf


def _to_markdown(bodies: Sequence[str], branch_event_ids: set[str]) -> str:
    events = (parse_event(body) for body in bodies)
    return "".join(markdown_of(event) for event in events if event.id in branch_event_ids)


def _to_atif(writer: AtifWriter, bodies: Sequence[str], branch_event_ids: set[str]) -> bytes:
    events = (parse_event(body) for body in bodies)
    return b"".join(
        writer.add(event)
        for event in events
        if event.id in branch_event_ids or isinstance(event, ConversationStateUpdateEvent)
    )


def _moment_of(timestamp: str) -> datetime:
    # The log has no zones. The app server reads its times as UTC everywhere.
    moment = datetime.fromisoformat(timestamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
