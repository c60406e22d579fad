"""Stores the memory notes that users have accepted. A note is a text about a repository that an agent has
written for later conversations. Each note belongs to one user.
"""

from collections.abc import Sequence
from uuid import UUID, uuid4

from sqlalchemy import Select, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.errors import Conflict, NotFound
from app_server.memory.models import MemoryNote, MemoryProposal
from app_server.memory.schemas import UpdateMemoryNote

MAX_NOTES_GIVEN = 200
"""The maximum number of notes about its repository that a conversation gets. The agent server in the sandbox
reads no more than this number.
"""
MAX_NOTES_KEPT = 400
"""The maximum number of stored notes for each user and repository. It is larger than MAX_NOTES_GIVEN: one
agent cannot write a new note if its sandbox has 200 notes, but several agents in different sandboxes together
can write more than 200.
"""


async def list_notes(session: AsyncSession, user_id: UUID) -> Sequence[MemoryNote]:
    """Returns all accepted memory notes of the user, sorted by repository and name."""
    query = _of_user(user_id).order_by(MemoryNote.repository, MemoryNote.name)
    return (await session.scalars(query)).all()


async def notes_of(session: AsyncSession, user_id: UUID, repository: str) -> Sequence[MemoryNote]:
    """Returns the user's accepted memory notes about a repository, for a conversation about this repository.
    The newest notes come first. At most MAX_NOTES_GIVEN notes are returned.
    """
    query = _of_user(user_id).where(MemoryNote.repository == repository)
    newest = query.order_by(MemoryNote.updated_at.desc(), MemoryNote.name).limit(MAX_NOTES_GIVEN)
    return (await session.scalars(newest)).all()


async def get_note(session: AsyncSession, user_id: UUID, note_id: UUID) -> MemoryNote:
    """Returns the user's memory note with this id. Raises NotFound if there is no such note or if it belongs
    to another user.
    """
    note = await session.scalar(_of_user(user_id).where(MemoryNote.id == note_id))
    if note is None:
        raise NotFound("No such note.")
    return note


async def update_note(
    session: AsyncSession, user_id: UUID, note_id: UUID, change: UpdateMemoryNote
) -> MemoryNote:
    """Changes the title, the text or both in a memory note of the user, and returns the changed note. A field
    of `change` that is None leaves the note's field unchanged. Raises NotFound if the user has no such note.
    """
    note = await get_note(session, user_id, note_id)
    note.title, note.text = change.title or note.title, change.text or note.text
    note.updated_at = now()
    await session.flush()
    return note


async def delete_note(session: AsyncSession, user_id: UUID, note_id: UUID) -> None:
    """Deletes a memory note of the user. Conversations that start later do not get the note. Raises NotFound
    if the user has no such note.
    """
    await session.delete(await get_note(session, user_id, note_id))


async def find_note(session: AsyncSession, user_id: UUID, repository: str, name: str) -> MemoryNote | None:
    query = _of_user(user_id).where(MemoryNote.repository == repository, MemoryNote.name == name)
    found: MemoryNote | None = await session.scalar(query)
    return found


async def put_note(session: AsyncSession, accepted: MemoryProposal, text: str) -> None:
    """Stores the memory note of an accepted proposal. If the user already has a note with the same repository
    and name, replaces the title and the text of this note. Otherwise adds a note.

    Raises Conflict `too_many_notes` if the new note would exceed MAX_NOTES_KEPT.
    """
    known = await find_note(session, accepted.user_id, accepted.repository, accepted.name)
    if known is None and await _is_full(session, accepted.user_id, accepted.repository):
        raise Conflict(
            f"There are {MAX_NOTES_KEPT} notes about this repository, which is the limit.",
            code="too_many_notes",
            fix="Delete one that is no longer needed.",
        )
    await _upsert(
        session,
        user_id=accepted.user_id,
        repository=accepted.repository,
        name=accepted.name,
        title=accepted.title,
        text=text,
        conversation_id=accepted.conversation_id,
    )


async def _upsert(session: AsyncSession, **values: object) -> None:
    # The user may accept two proposals for the same note at the same moment.
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    moment = now()
    row = insert(MemoryNote).values(id=uuid4(), created_at=moment, updated_at=moment, **values)
    changed = {name: row.excluded[name] for name in ("title", "text", "conversation_id", "updated_at")}
    await session.execute(
        row.on_conflict_do_update(index_elements=["user_id", "repository", "name"], set_=changed)
    )


async def _is_full(session: AsyncSession, user_id: UUID, repository: str) -> bool:
    query = select(func.count()).select_from(MemoryNote)
    count = await session.scalar(
        query.where(MemoryNote.user_id == user_id, MemoryNote.repository == repository)
    )
    return (count or 0) >= MAX_NOTES_KEPT


def _of_user(user_id: UUID) -> Select[MemoryNote]:
    return select(MemoryNote).where(MemoryNote.user_id == user_id)
