"""Stores large parts of events (images and long outputs of tools) in a separate table. A part that occurs
several times in a conversation is stored once.

In the stored event, each large part is replaced by a reference. Clients that do not know these references can
still read such an event, because a reference is a valid value of the field. The reference to an image is the
URL of a route of this server. The reference to a text is the beginning and the end of the text with such a
URL between them. The function `restored` returns the event exactly as the sandbox reported it.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_core import from_json, to_json
from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.events.models import EventBlob

MAX_INLINE_CHARACTERS = 64 * 1024
EXCERPT_CHARACTERS = 4000
"""The number of characters at the beginning of a long text, and also the number at its end, that stay in the
stored event.
"""
MAX_COMPLETE_BYTES = 32 * 1024 * 1024
"""The maximum total size, in bytes, of the large parts in one reply with complete events. A part that several
events contain is stored once, but counts for each of these events.
"""

TEXT = "text/plain"
_IMAGE = re.compile(r"data:(image/[A-Za-z0-9.+-]{1,80});base64,")

Reference = dict[str, Any]
"""A reference to a large part of an event, as a dictionary. `path`: the keys and indexes that lead to the
part in the event. `sha256`: the hash of the part as it was in the event. `media_type`: the type of the
content. `size`: the size of the part in bytes.
"""


@dataclass(frozen=True)
class Blob:
    sha256: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class StoredForm:
    """An event in the form in which the log stores it. `body`: the event as JSON text with references in
    place of large parts. `references`: the references in `body`. `blobs`: the large parts of the event.
    """

    body: str
    references: list[Reference]
    blobs: list[Blob]


def address_of(conversation_id: UUID, sha256: str) -> str:
    return f"/api/v1/conversation/{conversation_id.hex}/events/blobs/{sha256}"


def shortened(conversation_id: UUID, event: dict[str, Any], body: str) -> StoredForm:
    """Returns an event in the form in which the log stores it, with references in place of its large parts.
    `body`: the complete event as JSON text.
    """
    stored = StoredForm(body, [], [])
    if len(body) <= MAX_INLINE_CHARACTERS:
        return stored
    changed = dict(event)
    if "observation" in event:
        changed["observation"] = _without_large(
            conversation_id, event["observation"], ("observation",), stored
        )
    message = event.get("llm_message")
    if isinstance(message, Mapping) and "content" in message:
        # The text of a message stays: it is what was said.
        content = _without_large(conversation_id, message["content"], ("llm_message", "content"), stored)
        changed["llm_message"] = {**message, "content": content}
    return StoredForm(_encoded(changed), stored.references, stored.blobs) if stored.blobs else stored


def restored(body: str, references: Sequence[Reference], parts: Mapping[str, str]) -> str:
    """Returns a stored event as JSON text with its large parts in place of the references. `body`: the stored
    JSON text. `references`: the references in `body`. `parts`: the large parts by their SHA-256 hash.
    """
    event = from_json(body)
    for reference in references:
        *way, last = reference["path"]
        container = event
        for step in way:
            container = container[step]
        container[last] = parts[reference["sha256"]]
    return _encoded(event)


async def add(session: AsyncSession, conversation_id: UUID, blobs: Iterable[Blob]) -> None:
    """Stores large parts of the conversation's events, except for parts that are in the database already. The
    caller must hold the lock of the conversation's row.
    """
    new = {blob.sha256: blob for blob in blobs}
    if not new:
        return
    known = select(EventBlob.sha256).where(
        EventBlob.conversation_id == conversation_id, EventBlob.sha256.in_(new)
    )
    for sha256 in (await session.scalars(known)).all():
        del new[sha256]
    rows = [
        {
            "conversation_id": conversation_id,
            "sha256": blob.sha256,
            "media_type": blob.media_type,
            "content": blob.content,
        }
        for blob in new.values()
    ]
    if rows:
        await session.execute(insert(EventBlob), rows)


async def find(session: AsyncSession, conversation_id: UUID, sha256: str) -> Blob | None:
    row = await session.get(EventBlob, (conversation_id, sha256))
    return Blob(row.sha256, row.media_type, row.content) if row else None


async def complete_events(
    session: AsyncSession, conversation_id: UUID, rows: Sequence[tuple[str, list[Reference] | None]]
) -> list[str]:
    """Returns stored events as JSON texts with their large parts in place of the references. The texts are
    equal to the texts that the agent server has sent.

    `rows`: for each event, the stored JSON text and the references to its large parts.
    """
    wanted = {reference["sha256"] for _, references in rows for reference in references or ()}
    if not wanted:
        return [body for body, _ in rows]
    query = select(EventBlob.sha256, EventBlob.media_type, EventBlob.content).where(
        EventBlob.conversation_id == conversation_id, EventBlob.sha256.in_(wanted)
    )
    parts = {
        sha256: _part(media_type, content) for sha256, media_type, content in await session.execute(query)
    }
    return [restored(body, references, parts) if references else body for body, references in rows]


def fitting(rows: Sequence[tuple[str, list[Reference] | None]]) -> int:
    """Returns how many of these events, counted from the first, fit into one reply of the API with all their
    large parts. Returns at least 1 if there is an event. `rows`: for each event, the stored JSON text and the
    references to its large parts.
    """
    size = 0
    for number, (_, references) in enumerate(rows):
        size += sum(reference["size"] for reference in references or ())
        if number and size > MAX_COMPLETE_BYTES:
            return number
    return len(rows)


async def delete_some(session: AsyncSession, conversation_id: UUID, limit: int) -> int:
    """Deletes up to `limit` large parts of the conversation's events. Returns how many were deleted."""
    of_conversation = EventBlob.conversation_id == conversation_id
    hashes = select(EventBlob.sha256).where(of_conversation).limit(limit)
    done = await session.scalars(
        delete(EventBlob).where(of_conversation, EventBlob.sha256.in_(hashes)).returning(EventBlob.sha256)
    )
    return len(done.all())


async def delete_all(session: AsyncSession, conversation_id: UUID) -> None:
    await session.execute(delete(EventBlob).where(EventBlob.conversation_id == conversation_id))


def _without_large(conversation_id: UUID, value: Any, path: tuple[str | int, ...], stored: StoredForm) -> Any:
    """Returns a copy of `value`, a part of an event, with references in place of its large parts. Adds these
    parts and the references to `stored`. `path`: the keys and indexes that lead to `value` in the event.
    """
    if isinstance(value, dict):
        return {key: _without_large(conversation_id, one, (*path, key), stored) for key, one in value.items()}
    if isinstance(value, list):
        return [
            _without_large(conversation_id, one, (*path, index), stored) for index, one in enumerate(value)
        ]
    is_text = path[0] == "observation" and "image_urls" not in path
    blob = _blob(value, is_text) if isinstance(value, str) and len(value) > MAX_INLINE_CHARACTERS else None
    if blob is None:
        return value
    reference = {
        "path": list(path),
        "sha256": blob.sha256,
        "media_type": blob.media_type,
        "size": len(blob.content),
    }
    stored.references.append(reference)
    stored.blobs.append(blob)
    address = address_of(conversation_id, blob.sha256)
    return _beginning_and_end(value, address) if blob.media_type == TEXT else address


def _blob(value: str, is_text: bool) -> Blob | None:
    """Returns a large string of an event as a Blob, so that it can be stored outside the event. Returns None
    if the string must stay in the event. Only two kinds of strings are stored outside: the text of a tool
    result, and the data URL of an image.

    `value`: the large string. `is_text`: True if `value` is the text of a tool result, and False for all
    other strings. For an image, the Blob contains only the bytes of the image. If the data URL could not be
    restored exactly from these bytes, it stays in the event.
    """
    encoded = value.encode()
    sha256 = hashlib.sha256(encoded).hexdigest()
    if is_text:
        return Blob(sha256, TEXT, encoded)
    head = _IMAGE.match(value)
    if head is None:
        return None
    try:
        content = base64.b64decode(value[head.end() :], validate=True)
    except binascii.Error:
        return None
    blob = Blob(sha256, head[1], content)
    return blob if _part(blob.media_type, blob.content) == value else None


def _part(media_type: str, content: bytes) -> str:
    if media_type == TEXT:
        return content.decode()
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def _beginning_and_end(text: str, address: str) -> str:
    left_out = len(text) - 2 * EXCERPT_CHARACTERS
    note = f"[{left_out} characters are left out here. The whole text: GET {address}]"
    return f"{text[:EXCERPT_CHARACTERS]}\n\n{note}\n\n{text[-EXCERPT_CHARACTERS:]}"


def _encoded(event: Any) -> str:
    return to_json(event, inf_nan_mode="null").decode()
