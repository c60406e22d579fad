"""Stores the memory notes that agents propose, until the user accepts or rejects them. A new proposal
replaces an earlier proposal for the same user, repository and note name.

Every later conversation about a repository gets the accepted notes. Proposals come from sandboxes, and
sandboxes are not trusted. Therefore the user must accept a note before other conversations get it.
"""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID, uuid4

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.errors import NotFound
from app_server.memory import service
from app_server.memory.models import MAX_REPOSITORY_CHARACTERS, MemoryNote, MemoryProposal
from app_server.memory.written_notes import MemoryWrite

MAX_PROPOSALS = 200
"""The maximum number of proposals for each user and repository. Further proposals are discarded."""

ProposalKind = Literal["new", "change", "deletion"]


async def propose(
    session: AsyncSession, user_id: UUID, repository: str, conversation_id: UUID, written: MemoryWrite
) -> None:
    if len(repository) > MAX_REPOSITORY_CHARACTERS:
        return
    note = await service.find_note(session, user_id, repository, written.name)
    key = {"user_id": user_id, "repository": repository, "name": written.name}
    waiting = await session.scalar(select(MemoryProposal).filter_by(**key))
    is_deletion = written.command == "delete"
    title, text = _proposed(written, waiting, note)
    if text is None and not is_deletion:
        return
    changes_nothing = (
        note is None if is_deletion else note is not None and (note.title, note.text) == (title, text)
    )
    if changes_nothing:
        await session.execute(delete(MemoryProposal).filter_by(**key))
    elif waiting is not None or not await _is_full(session, user_id, repository):
        await _upsert(session, **key, title=title, text=text, conversation_id=conversation_id)


async def list_proposals(
    session: AsyncSession, user_id: UUID
) -> Sequence[tuple[MemoryProposal, ProposalKind]]:
    """Returns the memory notes that agents have proposed to the user, sorted by repository and name. Each
    proposal comes with its kind, which says whether the agent proposes a new note, a change of a note, or the
    deletion of a note.
    """
    of_same_note = (
        (MemoryNote.user_id == MemoryProposal.user_id)
        & (MemoryNote.repository == MemoryProposal.repository)
        & (MemoryNote.name == MemoryProposal.name)
    )
    query = (
        select(MemoryProposal, MemoryNote.id)
        .outerjoin(MemoryNote, of_same_note)
        .where(MemoryProposal.user_id == user_id)
        .order_by(MemoryProposal.repository, MemoryProposal.name)
    )
    rows = await session.execute(query)
    return [(proposal, _kind(proposal, is_known=note_id is not None)) for proposal, note_id in rows]


async def accept(session: AsyncSession, user_id: UUID, proposal_id: UUID) -> None:
    """Accepts a proposal of the user's agents for a memory note: stores or deletes the note as proposed, and
    deletes the proposal.

    Raises NotFound if the user has no proposal with this id, for example because a newer proposal has
    replaced it. Raises Conflict `too_many_notes` if the repository has too many notes.
    """
    proposal = await _take(session, user_id, proposal_id)
    if proposal.text is not None:
        await service.put_note(session, proposal, proposal.text)
        return
    note = await service.find_note(session, user_id, proposal.repository, proposal.name)
    if note is not None:
        await session.delete(note)


async def reject(session: AsyncSession, user_id: UUID, proposal_id: UUID) -> None:
    """Deletes an agent's proposal for a memory note and leaves the user's notes unchanged. Raises NotFound if
    the user has no proposal with this id.
    """
    await _take(session, user_id, proposal_id)


async def _take(session: AsyncSession, user_id: UUID, proposal_id: UUID) -> MemoryProposal:
    mine = MemoryProposal.id == proposal_id, MemoryProposal.user_id == user_id
    taken = delete(MemoryProposal).where(*mine).returning(MemoryProposal)
    proposal: MemoryProposal | None = await session.scalar(taken)
    if proposal is None:
        raise NotFound(
            "There is no such proposal.",
            code="memory_proposal_not_found",
            fix="Look at the list again: the agent may have proposed something else since.",
        )
    return proposal


def _proposed(
    written: MemoryWrite, waiting: MemoryProposal | None, note: MemoryNote | None
) -> tuple[str, str | None]:
    """Returns the title and the text that an agent proposes for a note. The text is None if the agent
    proposes a deletion, or if neither the tool call nor an earlier version contains a text.

    `written`: the arguments of the agent's tool call. `waiting`: the waiting proposal for the same note, if
    there is one. `note`: the accepted note, if there is one.

    A title or text that the tool call does not contain is copied from the earlier version of the note. This
    is `waiting`, or `note` if `waiting` is None or a deletion. If there is no earlier version, the title is
    the note's name. For a deletion, the title is that of `note`, or the note's name.
    """
    if written.command == "delete":
        return (note.title if note else written.name), None
    before = waiting if waiting is not None and waiting.text is not None else note
    title = written.title or (before.title if before else written.name)
    return title, written.text or (before.text if before else None)


def _kind(proposal: MemoryProposal, *, is_known: bool) -> ProposalKind:
    if proposal.text is None:
        return "deletion"
    return "change" if is_known else "new"


async def _is_full(session: AsyncSession, user_id: UUID, repository: str) -> bool:
    query = select(func.count()).select_from(MemoryProposal)
    return (
        await session.scalar(query.filter_by(user_id=user_id, repository=repository)) or 0
    ) >= MAX_PROPOSALS


async def _upsert(session: AsyncSession, **values: Any) -> None:
    # Two conversations may propose the same note at the same moment.
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(MemoryProposal).values(id=uuid4(), created_at=now(), **values)
    changed = {name: row.excluded[name] for name in ("id", "title", "text", "conversation_id", "created_at")}
    await session.execute(
        row.on_conflict_do_update(index_elements=["user_id", "repository", "name"], set_=changed)
    )
