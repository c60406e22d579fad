"""What the agent changed, since its conversation began."""

import posixpath
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from app_server.agent_client.replies import GitChange, GitDiff
from app_server.conversations.routes.dependencies import OwnedConversation, OwnedWorkplace
from app_server.conversations.schemas import PlainText
from app_server.core.database import Id, ReadSession, Timestamp
from app_server.git_proxy.models import PushOutcome
from app_server.git_proxy.push_log import list_pushes

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/git", tags=["Conversations"])

Ref = Annotated[PlainText | None, Query(max_length=255)]


class GitPushInfo(BaseModel):
    """One ref of a push. repository: `host/owner/name`; commits of zeros: the ref was, or is, not there."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    repository: str
    ref: str
    old_commit: str
    new_commit: str
    outcome: PushOutcome
    reason: str | None
    created_at: Timestamp


@router.get("/pushes")
async def git_pushes(conversation: OwnedConversation, session: ReadSession) -> list[GitPushInfo]:
    """What its sandbox has pushed to the git host, or tried to: the last 200, the newest first."""
    return [GitPushInfo.model_validate(row) for row in await list_pushes(session, conversation.sandbox_id)]


@router.get("/changes")
async def git_changes(
    place: OwnedWorkplace,
    path: Annotated[PlainText | None, Query(min_length=1, max_length=4096)] = None,
    ref: Ref = None,
) -> list[GitChange]:
    """Files that differ from `ref`; without it, from where the conversation began.

    `path`: of a repository, relative to the conversation's own or absolute within the sandbox; left out, the
    conversation's own. Another one has no beginning that we know: without `ref`, against its default branch.
    """
    directory = within(place.directory, path)
    began = place.base_commit if directory == place.directory else None
    return await place.client.git_changes(directory, ref or began)


@router.get("/diff")
async def git_diff(
    place: OwnedWorkplace, path: Annotated[PlainText, Query(min_length=1, max_length=4096)], ref: Ref = None
) -> GitDiff:
    """Both sides of one file; `path` is relative to the repository, or absolute within the sandbox."""
    return await place.client.git_diff(within(place.directory, path), ref or place.base_commit)


def within(directory: str, path: str | None) -> str:
    """`path` within the sandbox, where a relative one is below `directory`."""
    return posixpath.normpath(posixpath.join(directory, path or ""))


@router.get("/patch", response_class=Response, responses={200: {"content": {"text/x-diff": {}}}})
async def git_patch(place: OwnedWorkplace) -> Response:
    """The whole change as one unified diff, untracked files included."""
    patch = await place.client.git_patch(place.directory, place.base_commit)
    headers = {"Content-Disposition": 'attachment; filename="changes.patch"'}
    return Response(patch, media_type="text/x-diff", headers=headers)
