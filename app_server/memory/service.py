"""Stores the notes that users have accepted, by user and repository."""

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
"""The limit of notes that a sandbox gets. Its agent server does not read more."""
MAX_NOTES_KEPT = 400
"""The limit per repository. An agent is refused at 200; several agents at once may exceed that."""


async def list_notes(session: AsyncSession, user_id: UUID) -> Sequence[MemoryNote]:
    """Returns all notes of the user, sorted by repository and name."""
    query = _of_user(user_id).order_by(MemoryNote.repository, MemoryNote.name)
    return (await session.scalars(query)).all()


async def notes_of(session: AsyncSession, user_id: UUID, repository: str) -> Sequence[MemoryNote]:
    """Returns the notes that a conversation about this repository gets: the newest first, at most
    MAX_NOTES_GIVEN.
    """
    query = _of_user(user_id).where(MemoryNote.repository == repository)
    newest = query.order_by(MemoryNote.updated_at.desc(), MemoryNote.name).limit(MAX_NOTES_GIVEN)
    return (await session.scalars(newest)).all()


async def get_note(session: AsyncSession, user_id: UUID, note_id: UUID) -> MemoryNote:
    """Returns the user's note with this id. Raises NotFound, also for a note of another user."""
    note = await session.scalar(_of_user(user_id).where(MemoryNote.id == note_id))
    if note is None:
        raise NotFound("No such note.")
    return note


async def update_note(
    session: AsyncSession, user_id: UUID, note_id: UUID, change: UpdateMemoryNote
) -> MemoryNote:
    """Changes the title or the text of a note and returns the note. Raises NotFound."""
    note = await get_note(session, user_id, note_id)
    note.title, note.text = change.title or note.title, change.text or note.text
    note.updated_at = now()
    await session.flush()
    return note


async def delete_note(session: AsyncSession, user_id: UUID, note_id: UUID) -> None:
    """Deletes a note. Conversations that start from now on do not get the note. Raises NotFound."""
    await session.delete(await get_note(session, user_id, note_id))


async def find_note(session: AsyncSession, user_id: UUID, repository: str, name: str) -> MemoryNote | None:
    query = _of_user(user_id).where(MemoryNote.repository == repository, MemoryNote.name == name)
    found: MemoryNote | None = await session.scalar(query)
    return found


async def put_note(session: AsyncSession, accepted: MemoryProposal, text: str) -> None:
    """Stores an accepted note: adds the note, or replaces the title and text of the note with the same name.
    Raises Conflict `too_many_notes`.
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
    # Two answers may arrive at the same moment.
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    moment = now()
    row = insert(MemoryNote).values(id=uuid4(), created_at=moment, updated_at=moment, **values)
    changed = {name: row.excluded[name] for name in ("title", "text", "conversation_id", "updated_at")}
    await session.execute(
        row.on_conflict_do_update(index_elements=["user_id", "repository", "name"], set_=changed)
    )


async def _is_full(session: AsyncSession, user_id: UUID, repository: str) -> bool:
    query = select(func.count()).select_from(MemoryNote)
    kept = await session.scalar(
        query.where(MemoryNote.user_id == user_id, MemoryNote.repository == repository)
    )
    return (kept or 0) >= MAX_NOTES_KEPT


def _of_user(user_id: UUID) -> Select[MemoryNote]:
    return select(MemoryNote).where(MemoryNote.user_id == user_id)
