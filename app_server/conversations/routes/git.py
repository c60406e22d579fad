"""Routes that return the changed files, the diffs and the pushes of a conversation's repositories."""

import posixpath
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from app_server.access.authentication import CurrentUser
from app_server.agent_client.replies import GitChange, GitDiff
from app_server.conversations.repositories.workplaces import Workplace, named
from app_server.conversations.routes.dependencies import SeenConversation, SeenWorkplace
from app_server.conversations.schemas import PlainText
from app_server.conversations.sharing.access import Access, require_no_private_neighbours
from app_server.core.database import Id, ReadSession, Timestamp
from app_server.core.errors import Forbidden
from app_server.git_proxy.models import PushOutcome
from app_server.git_proxy.push_log import list_pushes

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/git", tags=["Conversations"])

Ref = Annotated[PlainText | None, Query(max_length=255)]


class GitPushInfo(BaseModel):
    """One branch or tag (ref) that a push from the sandbox has changed or tried to change. repository:
    `host/owner/name`.

    old_commit of zeros: the ref did not exist before the push. new_commit of zeros: the push deletes the ref.
    """

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
async def git_pushes(
    user: CurrentUser, conversation: SeenConversation, session: ReadSession
) -> list[GitPushInfo]:
    """Returns the pushes from the conversation's sandbox, newest first: one entry for each pushed branch or
    tag, at most the last 200. Refused and failed pushes are included. If other conversations work in the same
    sandbox, their pushes are included, too.
    """
    await require_no_private_neighbours(session, user.id, conversation, Access.VIEW)
    return [GitPushInfo.model_validate(row) for row in await list_pushes(session, conversation.sandbox_id)]


@router.get("/changes")
async def git_changes(
    workplace: SeenWorkplace,
    path: Annotated[PlainText | None, Query(min_length=1, max_length=4096)] = None,
    ref: Ref = None,
) -> list[GitChange]:
    """Returns the files of a repository that differ from the commit, branch or tag `ref`.

    `path`: the directory of the repository, absolute within the sandbox, or relative to the directory of the
    conversation's first repository (for example `../lamp`); if left out, the first repository.

    If `ref` is left out, a repository of the conversation is compared with the commit at which the agent's
    work began. Any other directory is compared with the last commit that its branch shares with the upstream
    branch. If there is none, the default branch is used in its place.
    """
    directory = within(workplace.directory, path)
    require_within(workplace, directory)
    began = next((one.base_commit for one in workplace.checkouts if one.directory == directory), None)
    return await workplace.client.git_changes(directory, ref or began)


@router.get("/diff")
async def git_diff(
    workplace: SeenWorkplace,
    path: Annotated[PlainText, Query(min_length=1, max_length=4096)],
    ref: Ref = None,
) -> GitDiff:
    """Returns the content of one file before and after the changes. `path`: absolute within the sandbox, or
    relative to the directory of the conversation's first repository.

    `ref`: the commit, branch or tag with the content before the changes; if left out, the commit at which the
    agent's work began. For a file outside of the conversation's repositories, it is then the last commit that
    the branch shares with its upstream branch. If there is none, the default branch is used in its place.
    """
    file = within(workplace.directory, path)
    require_within(workplace, file)
    checkout = workplace.checkout_with(file)
    return await workplace.client.git_diff(file, ref or (checkout.base_commit if checkout else None))


def within(directory: str, path: str | None) -> str:
    """Returns `path` as an absolute path in the sandbox. A relative `path` is resolved below `directory`.
    Returns `directory` if `path` is None.
    """
    return posixpath.normpath(posixpath.join(directory, path or ""))


def require_within(workplace: Workplace, path: str) -> None:
    """Checks that the current user may read this path. The owner of the conversation may read all files of
    the sandbox. Other users may read only the repositories of the conversation.

    Raises Forbidden `outside_the_repository` if the user may not read the path.
    """
    if not workplace.is_own and workplace.checkout_with(posixpath.normpath(path)) is None:
        raise Forbidden(
            "Only the owner of the conversation may look outside of its repositories.",
            code="outside_the_repository",
        )


@router.get("/patch", response_class=Response, responses={200: {"content": {"text/x-diff": {}}}})
async def git_patch(
    workplace: SeenWorkplace, repository: Annotated[PlainText | None, Query(max_length=255)] = None
) -> Response:
    """Returns all changes of one repository since the conversation began, as one unified diff with the
    untracked files.

    `repository`: the name of the repository's directory; if left out, the conversation's first repository.
    400 `repository_not_in_conversation` if the conversation has no repository with this name.
    """
    checkout = named(workplace.checkouts, repository)
    patch = await workplace.client.git_patch(checkout.directory, checkout.base_commit)
    headers = {"Content-Disposition": 'attachment; filename="changes.patch"'}
    return Response(patch, media_type="text/x-diff", headers=headers)
