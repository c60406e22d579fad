"""Routes for snapshots of a conversation's files. A new conversation can begin with the files of a snapshot
(field `snapshot_id` of the start request).
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from app_server.conversations.routes.dependencies import OwnedConversation, OwnedConversationId
from app_server.conversations.schemas import Success
from app_server.conversations.snapshots import snapshot_of
from app_server.core.database import Id, ReadSession, ServerDatabase, Timestamp
from app_server.core.errors import NotFound
from app_server.http.strict_body import StrictBody
from app_server.sandbox_records.models import Archive, ArchiveKind
from app_server.sandboxes.service import ServerSandboxes

router = APIRouter(prefix="/api/v1/sandboxes/{conversation_id}/snapshots", tags=["sandboxes"])


class NewSnapshot(StrictBody):
    model_config = ConfigDict(str_strip_whitespace=True)

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Snapshot(BaseModel):
    """A stored copy of a conversation's files. `size_bytes`: the size of the file on the server in which the
    copy is stored.
    """

    id: Id
    sandbox_id: Id
    name: str | None
    size_bytes: int
    created_at: Timestamp

    @classmethod
    def of(cls, archive: Archive) -> "Snapshot":
        return cls.model_validate(archive, from_attributes=True)


@router.post(
    "",
    status_code=201,
    responses={
        409: {"description": "The sandbox is starting, has failed to, or mixes the files of several"},
        503: {"description": "Its files could not be kept"},
    },
)
async def take_snapshot(
    conversation: OwnedConversation, body: NewSnapshot, database: ServerDatabase, sandboxes: ServerSandboxes
) -> Snapshot:
    """Takes a snapshot of the conversation's current files. If the sandbox is a container, it is paused while
    its files are copied. Returns a description of the snapshot.

    429 `quota_reached` if the user's storage quota is used up.
    """
    return Snapshot.of(await snapshot_of(database, sandboxes, conversation, body.name))


@router.get("")
async def list_snapshots(conversation_id: OwnedConversationId, session: ReadSession) -> list[Snapshot]:
    """Returns the snapshots of the conversation's files, newest first. The snapshots are deleted with the
    conversation.
    """
    query = select(Archive).where(
        Archive.conversation_id == conversation_id, Archive.kind == ArchiveKind.SNAPSHOT
    )
    found = await session.scalars(query.order_by(Archive.created_at.desc(), Archive.id))
    return [Snapshot.of(archive) for archive in found]


@router.delete("/{snapshot_id}")
async def delete_snapshot(
    conversation_id: OwnedConversationId, snapshot_id: UUID, session: ReadSession, sandboxes: ServerSandboxes
) -> Success:
    archive = await session.get(Archive, snapshot_id)
    if archive is None or archive.conversation_id != conversation_id or archive.kind != ArchiveKind.SNAPSHOT:
        raise NotFound("No such snapshot.", code="snapshot_not_found")
    await sandboxes.archives.remove(archive)
    return Success()
