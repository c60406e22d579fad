"""The routes for the current user's memory notes: texts about repositories that agents write for later
conversations. Agents propose notes. Users accept or reject the proposals, and read, change and delete the
accepted notes.
"""

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter

from app_server.access.authentication import CurrentUser
from app_server.core.database import ReadSession, Session
from app_server.memory import proposals, service
from app_server.memory.models import MemoryNote
from app_server.memory.schemas import (
    MemoryNoteInfo,
    MemoryNoteSummary,
    MemoryProposalInfo,
    UpdateMemoryNote,
)

router = APIRouter(prefix="/api/v1/memory", tags=["Memory"])
proposal_router = APIRouter(prefix="/api/v1/memory-proposals", tags=["Memory"])


@router.get("", response_model=list[MemoryNoteSummary])
async def list_memory_notes(user: CurrentUser, session: ReadSession) -> Sequence[MemoryNote]:
    """Returns all memory notes (texts about repositories that agents have written) that the current user has
    accepted, sorted by repository and name. The reply does not contain the texts of the notes.
    """
    return await service.list_notes(session, user.id)


@router.get("/{note_id}", response_model=MemoryNoteInfo)
async def get_memory_note(user: CurrentUser, session: ReadSession, note_id: UUID) -> MemoryNote:
    return await service.get_note(session, user.id, note_id)


@router.patch("/{note_id}", response_model=MemoryNoteInfo)
async def update_memory_note(
    user: CurrentUser, session: Session, note_id: UUID, body: UpdateMemoryNote
) -> MemoryNote:
    return await service.update_note(session, user.id, note_id, body)


@router.delete("/{note_id}", status_code=204)
async def delete_memory_note(user: CurrentUser, session: Session, note_id: UUID) -> None:
    """Deletes a memory note of the current user. Conversations that start later do not get the note. A
    conversation that already runs may have read the note before.
    """
    await service.delete_note(session, user.id, note_id)


@proposal_router.get("")
async def list_memory_proposals(user: CurrentUser, session: ReadSession) -> list[MemoryProposalInfo]:
    """Returns the memory notes (texts about repositories for later conversations) that agents have proposed
    to the current user, sorted by repository and name. Conversations get a proposed note only after the user
    has accepted it.
    """
    found = await proposals.list_proposals(session, user.id)
    columns = [(proposal.__dict__, kind) for proposal, kind in found]
    return [MemoryProposalInfo.model_validate({**values, "kind": kind}) for values, kind in columns]


@proposal_router.post("/{proposal_id}/accept", status_code=204)
async def accept_memory_proposal(user: CurrentUser, session: Session, proposal_id: UUID) -> None:
    """Accepts an agent's proposal for a memory note: adds, changes or deletes the note as proposed, and
    removes the proposal. Conversations that start later get the notes with this change. Replies 404 if there
    is no such proposal, for example because an agent has replaced it by a newer proposal.
    """
    await proposals.accept(session, user.id, proposal_id)


@proposal_router.post("/{proposal_id}/reject", status_code=204)
async def reject_memory_proposal(user: CurrentUser, session: Session, proposal_id: UUID) -> None:
    await proposals.reject(session, user.id, proposal_id)
