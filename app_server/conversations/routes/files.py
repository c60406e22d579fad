"""Routes to download a conversation or all its project files, and to read the hooks of the project."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import BinaryIO, Literal
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from agent_runtime.events.base import JsonObject
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.log.export import atif_chunks, markdown_chunks, zip_chunks
from app_server.conversations.routes.dependencies import (
    OwnedConversation,
    OwnedWorkplace,
    Viewer,
)
from app_server.conversations.schemas import AppConversation
from app_server.conversations.snapshots import copy_of_files
from app_server.core.database import Database, ServerDatabase
from app_server.core.errors import NotFound
from app_server.sandboxes.service import ServerSandboxes

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@dataclass(frozen=True)
class _Form:
    """A file format in which a conversation can be downloaded. ending: the ending of the file name, such as
    `md`. chunks: the function that makes the content of the file and yields it in parts.
    """

    media_type: str
    ending: str
    chunks: Callable[[Database, AppConversation], AsyncIterator[bytes] | AsyncIterator[str]]


_FORMS = {
    "zip": _Form("application/zip", "zip", zip_chunks),
    "markdown": _Form("text/markdown; charset=utf-8", "md", markdown_chunks),
    "atif": _Form("application/json", "atif.json", atif_chunks),
}
_PIECE_BYTES = 1024**2


class ProjectHookMatcher(BaseModel):
    """A group of hooks (commands) of a project that run for certain tools. matcher: which tools these are:
    the name of a tool, a regular expression, or `*` for all tools.
    """

    matcher: str
    hooks: list[JsonObject]


class ProjectHookEvent(BaseModel):
    """The hooks of a project for one type of event. event_type: for example `pre_tool_use` or `stop`."""

    event_type: str
    matchers: list[ProjectHookMatcher]


class ProjectHooks(BaseModel):
    hooks: list[ProjectHookEvent]


@router.get(
    "/download",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/zip": {}, "text/markdown": {}, "application/json": {}}}},
)
async def download_conversation(
    user: CurrentUser,
    trail: CurrentTrail,
    viewer: Viewer,
    conversation_id: UUID,
    database: ServerDatabase,
    format: Literal["zip", "markdown", "atif"] = "zip",  # noqa: A002
) -> StreamingResponse:
    """Downloads the conversation as one file.

    `zip`: a JSON file for each event, and `meta.json`. `markdown`: a readable text of messages and actions.
    `atif`: one document in the Agent Trajectory Interchange Format, version 1.7. The conversation can also be
    downloaded if its sandbox is paused, archived or deleted.
    """
    async with database.read() as session:
        conversation = await viewer.find(session, conversation_id, user_id=user.id)
    if conversation is None:
        raise NotFound("No such conversation.")
    async with database.session() as session:
        target = (AuditTarget.CONVERSATION, conversation_id)
        trail.record(session, AuditAction.CONVERSATION_EXPORTED, target, format=format)
    form = _FORMS[format]
    name = f"{conversation_id.hex}.{form.ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    chunks = form.chunks(database, conversation)
    return StreamingResponse(chunks, media_type=form.media_type, headers=headers)


@router.get(
    "/workspace",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/gzip": {}}},
        409: {"description": "There are no files, or they cannot be copied now"},
        503: {"description": "The files could not be copied"},
    },
)
async def download_workspace(
    conversation: OwnedConversation, trail: CurrentTrail, database: ServerDatabase, sandboxes: ServerSandboxes
) -> StreamingResponse:
    """Downloads the conversation's current project files as a gzipped tar file. The names in the file begin
    with `project/`. The agent's home directory and the data of the agent server are left out.

    The sandbox may be running, paused or archived. If it is a container, it is paused while its files are
    copied.

    409 `conversation_imported` if the conversation was imported, so that it has no sandbox. 409
    `sandbox_deleted` if the sandbox was deleted. 409 `conversation_not_started` if the project files have not
    been fetched yet. 409 `sandbox_not_at_rest` if the sandbox is starting or could not be started. 409
    `sandbox_shared` if other conversations work in the same project directory, so that their files cannot be
    told apart. 409 `download_running` if an earlier download of this sandbox's files has not ended.
    """
    file = await copy_of_files(database, sandboxes, conversation)
    async with database.session() as session:
        target = (AuditTarget.CONVERSATION, conversation.id)
        trail.record(session, AuditAction.CONVERSATION_EXPORTED, target, format="workspace")
    headers = {
        "Content-Disposition": f'attachment; filename="{conversation.id.hex}.tar.gz"',
        "Content-Length": str(os.fstat(file.fileno()).st_size),
    }
    return StreamingResponse(_pieces(file), media_type="application/gzip", headers=headers)


@router.get("/hooks")
async def get_conversation_hooks(workplace: OwnedWorkplace) -> ProjectHooks:
    """Returns the hooks (commands that run at certain events) that the repository contains now. A hook is run
    only if the user has allowed it.
    """
    config = await workplace.client.project_hooks(workplace.directory) or {}
    events = [
        ProjectHookEvent(
            event_type=event_type, matchers=[ProjectHookMatcher.model_validate(one) for one in matchers]
        )
        for event_type, matchers in config.items()
        if matchers
    ]
    return ProjectHooks(hooks=events)


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            yield piece
