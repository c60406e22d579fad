"""Routes that list, resume, pause and archive the user's sandboxes. Most sandboxes are created and deleted
together with their conversations.
"""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.core.database import ReadSession
from app_server.core.errors import BadRequest, Conflict, Unavailable
from app_server.core.pagination import Limit, PageId, decode_page_id, encode_page_id
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.schemas import (
    ResumeSandbox,
    SandboxArchived,
    SandboxInfo,
    SandboxPage,
    SandboxPaused,
    SandboxResumed,
)
from app_server.sandboxes.service import ServerSandboxes
from app_server.sandboxes.users_sandboxes import find_own

router = APIRouter(prefix="/api/v1/sandboxes", tags=["sandboxes"])


@router.get("/search")
async def search_sandboxes(
    request: Request,
    principal: CurrentPrincipal,
    session: ReadSession,
    page_id: PageId = None,
    limit: Limit = 100,
) -> SandboxPage:
    """Returns one page of the user's sandboxes, newest first."""
    query = select(Sandbox).where(Sandbox.user_id == principal.user.id)
    if page_id:
        query = query.where(tuple_(Sandbox.created_at, Sandbox.id) < _position(page_id))
    query = query.order_by(Sandbox.created_at.desc(), Sandbox.id.desc()).limit(limit + 1)
    found = list((await session.execute(query)).scalars())
    page, more = found[:limit], found[limit:]
    return SandboxPage(
        items=[await _info(request, session, principal, sandbox) for sandbox in page],
        next_page_id=encode_page_id(page[-1].created_at.isoformat(timespec="microseconds"), page[-1].id.hex)
        if more
        else None,
    )


@router.get("")
async def get_sandboxes(
    request: Request,
    principal: CurrentPrincipal,
    session: ReadSession,
    ids: Annotated[list[UUID], Query(alias="id", min_length=1, max_length=100)],
) -> list[SandboxInfo | None]:
    """Returns the user's sandboxes with these ids, in the given order. The list contains null in place of a
    sandbox that does not exist or belongs to another user.
    """
    query = select(Sandbox).where(Sandbox.user_id == principal.user.id, Sandbox.id.in_(ids))
    found = {
        sandbox.id: await _info(request, session, principal, sandbox)
        for sandbox in (await session.scalars(query)).all()
    }
    return [found.get(sandbox_id) for sandbox_id in ids]


@router.post(
    "/{sandbox_id}/resume",
    responses={
        409: {"description": "Its host is lost, and there is no backup, or the log is newer than the backup"}
    },
)
async def resume_sandbox(
    user: CurrentUser,
    sandbox_id: UUID,
    sandboxes: ServerSandboxes,
    request: Request,
    wanted: ResumeSandbox | None = None,
) -> SandboxResumed:
    """Starts a sandbox that sleeps, is archived or has failed. The reply is sent before the sandbox runs.

    If the host of the sandbox cannot be reached, the sandbox starts on another host, with the files of its
    last backup. If the conversations in the sandbox have events that are later than the backup, the request
    is refused with status 409 `backup_outdated`. In this reply, `backup_at` and `later_events` say how old
    the backup is. The user can then repeat the request with `from_backup` to accept the loss of all file
    changes that were made after the backup.

    Status 429 `quota_reached`: the user or the organisation already has the maximum number of running
    sandboxes.
    """
    await find_own(request, user, sandbox_id)
    wanted = wanted or ResumeSandbox()
    await sandboxes.require_quota(sandbox_id)
    await sandboxes.resume(sandbox_id, from_backup=wanted.from_backup)
    return SandboxResumed()


@router.post("/{sandbox_id}/pause")
async def pause_sandbox(
    user: CurrentUser, sandbox_id: UUID, sandboxes: ServerSandboxes, request: Request
) -> SandboxPaused:
    """Puts a sandbox to sleep: stops its programs and keeps its files. The next message to one of its
    conversations starts the sandbox again.
    """
    await find_own(request, user, sandbox_id)
    await sandboxes.pause(sandbox_id)
    return SandboxPaused()


@router.post(
    "/{sandbox_id}/archive",
    responses={
        409: {"description": "It is starting or has failed to"},
        503: {"description": "Its files could not be kept; they are as they were"},
    },
)
async def archive_sandbox(
    user: CurrentUser, sandbox_id: UUID, sandboxes: ServerSandboxes, request: Request
) -> SandboxArchived:
    """Moves the files of a sandbox to an archive and removes the container and the volume of the sandbox. The
    reply is sent when the archive is completely written to disk.

    The next message to one of the sandbox's conversations, or a request to resume the sandbox, restores the
    sandbox from the archive.
    """
    await find_own(request, user, sandbox_id)
    await sandboxes.archiving.archive(sandbox_id)
    return SandboxArchived()


async def _info(
    request: Request, session: AsyncSession, principal: Principal, sandbox: Sandbox
) -> SandboxInfo:
    if sandbox.status != SandboxStatus.RUNNING or not principal.may(Permission.WORK):
        return SandboxInfo.of(sandbox, None)
    state = request.state
    try:
        state.sandboxes.client(sandbox.id)
    except Conflict:
        # It should run and is being started.
        return SandboxInfo.of(sandbox, None).model_copy(update={"status": SandboxStatus.STARTING})
    except Unavailable:
        pass  # another server has it
    folder = await state.folder_of(session, sandbox, sandbox.id)
    key = state.agent_server_key(request, sandbox.id, principal.credential)
    return SandboxInfo.of(sandbox, state.exposed_urls(request, sandbox, principal.credential, folder), key)


def _position(page_id: str) -> tuple[datetime, UUID]:
    created_at, sandbox_id = decode_page_id(page_id, parts=2)
    try:
        # %z requires a zone: a time without one does not come from this route.
        moment = datetime.strptime(created_at, "%Y-%m-%dT%H:%M:%S.%f%z").astimezone(UTC)
        return moment, UUID(sandbox_id)
    except (ValueError, OverflowError):
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id") from None
