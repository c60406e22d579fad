"""Routes to create a sandbox without a conversation, and to delete a sandbox."""

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Query
from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import CurrentUser
from app_server.conversations.models import Conversation
from app_server.conversations.schemas import Success
from app_server.conversations.start.tasks import is_awaited
from app_server.conversations.start.worker import ServerStartWorker
from app_server.core.database import ServerDatabase
from app_server.core.errors import BadRequest, Conflict, NotFound
from app_server.core.server_objects import ServerConfig
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.permission import permission_of
from app_server.sandboxes.schemas import SandboxInfo
from app_server.sandboxes.service import ServerSandboxes

router = APIRouter(prefix="/api/v1/sandboxes", tags=["sandboxes"])

_MAX_EMPTY = 10


@router.post(
    "",
    responses={
        403: {"description": "The user may not choose what sandboxes are built on"},
        409: {"description": "The user has the maximum number of sandboxes without a conversation"},
    },
)
async def create_sandbox(
    user: CurrentUser,
    database: ServerDatabase,
    config: ServerConfig,
    sandboxes: ServerSandboxes,
    sandbox_spec_id: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
) -> SandboxInfo:
    """Creates a sandbox without a conversation and starts the sandbox at once. A later start request can name
    the sandbox by its id, so that the new conversation works in it. Returns the sandbox.

    `sandbox_spec_id`: the sandbox spec, which names the base image; if left out, the user's setting.
    """
    permission = permission_of(config, sandboxes.describe(), administers=user.administers_installation)
    async with database.session() as session:
        await _require_few(session, user.id)
        spec = await sandbox_specs.chosen(session, user.id, sandbox_spec_id, None, permission)
        sandbox = await sandboxes.create(
            session, sandbox_id=uuid4(), user_id=user.id, base_image=spec.base if spec else None
        )
        # The monitor starts sandboxes that are RUNNING. Until it has done so, there is no client for this
        # one.
        sandbox.status = SandboxStatus.RUNNING
    info = SandboxInfo.of(sandbox, None)
    return info.model_copy(update={"status": SandboxStatus.STARTING})


@router.delete(
    "/{sandbox_id}",
    responses={409: {"description": "A conversation in it is starting"}},
)
async def delete_sandbox(
    user: CurrentUser,
    sandbox_id: UUID,
    database: ServerDatabase,
    sandboxes: ServerSandboxes,
    start_worker: ServerStartWorker,
    named: Annotated[UUID | None, Query(alias="sandbox_id")] = None,
) -> Success:
    """Deletes the sandbox, its files and its snapshots. Its conversations can still be read, but no agent
    works on them any more.

    The parameter `sandbox_id` in the query is optional and has no effect. It exists because OpenHands clients
    send the id also in the query. 400 `two_sandboxes` if it differs from the id in the path.
    """
    if named not in {None, sandbox_id}:
        raise BadRequest("The path and the query name two sandboxes.", code="two_sandboxes")
    async with database.session() as session:
        sandbox = await session.get(Sandbox, sandbox_id, with_for_update=True)
        if sandbox is None or sandbox.user_id != user.id:
            raise NotFound("No such sandbox.", code="sandbox_not_found")
        if await is_awaited(session, sandbox_id):
            raise Conflict(
                "A conversation in that sandbox is starting.",
                code="sandbox_starting",
                fix="Wait until it is ready, or delete the conversation.",
            )
        # With this status, no conversation joins the sandbox any more, and nothing starts it again.
        sandbox.status = SandboxStatus.MISSING
    await sandboxes.delete(sandbox_id)
    await start_worker.announce_sandbox(sandbox_id)
    return Success()


async def _require_few(session: AsyncSession, user_id: UUID) -> None:
    used = exists().where(Conversation.sandbox_id == Sandbox.id)
    query = select(Sandbox.id).where(Sandbox.user_id == user_id, ~used).limit(_MAX_EMPTY)
    if len((await session.scalars(query)).all()) >= _MAX_EMPTY:
        raise Conflict(
            f"You have {_MAX_EMPTY} sandboxes without a conversation.",
            code="too_many_empty_sandboxes",
            fix="Start conversations in them, or delete some.",
        )
