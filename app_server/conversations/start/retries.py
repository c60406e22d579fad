"""Retries a failed start of a conversation. For the retry, the user may give another branch or another
repository.
"""

from pathlib import Path
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations import service
from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.conversations.schemas import RetryStart, StartRequest
from app_server.conversations.sharing.owning_team import give_to_team, leave_team, team_for_start
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.request import checked_address, with_directory
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict
from app_server.git.address import parse_address
from app_server.sandbox_records.models import Sandbox
from app_server.teams.repositories.ownership import require_member
from app_server.users.models import User


async def retry(
    session: AsyncSession, cipher: Cipher, home: Path, user: User, task_id: UUID, change: RetryStart | None
) -> StartTask:
    """Reopens the failed start of a conversation, so that a start worker (a background task of an app server)
    tries the start again. Returns the start task, the row that describes the start. `change`: another branch,
    repository or working folder for the retry; None if everything stays the same. `home`: the data directory
    of the app server. If the start has not failed and `change` is None, the start task is returned unchanged.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user does not own it. Raises Forbidden `repository_of_team` if a team allows a repository only to
    its members and the user is not a member.

    If `change` is given, more errors are possible. Raises Conflict `start_not_failed` if the start has not
    failed. Raises Conflict `repository_is_there` if the files are already fetched. Raises Conflict
    `sandbox_shared` if other conversations use the sandbox. Raises InvalidRepository if the address of the
    new repository is not valid. Raises Forbidden `repository_not_allowed` if the user may not use it. Raises
    BadRequest if the branch or the working folder is not valid.
    """
    conversation = await service.require(session, user.id, task_id)
    task = await session.get_one(StartTask, task_id, with_for_update=True)
    changed = change.model_dump(exclude_unset=True) if change else {}
    if changed.get("selected_repository") is None:
        changed.pop("selected_repository", None)
    if changed:
        await _change(session, cipher, home, user, task, conversation, changed)
    if task.status == StartStatus.ERROR:
        if conversation.last_seq == 0:
            await _require_member(session, user, conversation)
        start_tasks.retry(task)
        await session.flush()
    return task


async def _change(
    session: AsyncSession,
    cipher: Cipher,
    home: Path,
    user: User,
    task: StartTask,
    conversation: Conversation,
    changed: dict[str, str | None],
) -> None:
    before = StartRequest.model_validate(task.request)
    _require_open(task, conversation, before)
    request = with_directory(before.model_copy(update=changed))
    if request.selected_repository != before.selected_repository:
        await _require_alone(session, conversation)
        address = await checked_address(request, user, home)
        await leave_team(session, conversation)
        further = KeptRepository.all_of(conversation.more_repositories)
        owner = await team_for_start(session, user, address, [one.address for one in further])
        if owner is not None:
            give_to_team(session, user, conversation, owner)
        is_secret = address is not None and address.has_credentials
        if address and is_secret:
            request = request.model_copy(update={"selected_repository": address.public_url})
        task.encrypted_repository_url = cipher.encrypt(address.url) if address and is_secret else None
    task.request = request.model_dump(mode="json", exclude_none=True)
    conversation.selected_repository = request.selected_repository
    conversation.selected_branch = request.selected_branch
    conversation.selected_directory = request.selected_directory
    conversation.first_repository = None


async def _require_member(session: AsyncSession, user: User, conversation: Conversation) -> None:
    """Checks again that the user may work on the conversation's repositories, because the user may have left
    a team after the conversation was created. Raises Forbidden `repository_of_team` if a team that owns one
    of the repositories allows only its members, and the user is not a member.
    """
    first, provider = conversation.selected_repository, conversation.git_provider
    addresses = [one.address for one in KeptRepository.all_of(conversation.more_repositories)]
    if first is not None:
        addresses.insert(0, parse_address(first, provider))
    await require_member(session, user.id, [one.identity for one in addresses])


def _require_open(task: StartTask, conversation: Conversation, request: StartRequest) -> None:
    """Checks that the repository, the branch or the working folder of a failed start may be changed.
    `request`: the start request before the change.

    Raises Conflict `start_not_failed` if the start has not failed. Raises Conflict `repository_is_there` if
    the repository is already fetched, if the conversation has events, or if it begins from a snapshot.
    """
    if task.status != StartStatus.ERROR:
        raise Conflict(
            "The start has not failed.",
            code="start_not_failed",
            fix="Start another conversation from the other branch.",
        )
    fetched = start_tasks.stage_of(task, StartStatus.PREPARING_REPOSITORY).state == "done"
    if fetched or conversation.last_seq > 0 or request.snapshot_id is not None:
        raise Conflict(
            "The files of this conversation are there already.",
            code="repository_is_there",
            fix="Start another conversation from the other branch or repository.",
        )


async def _require_alone(session: AsyncSession, conversation: Conversation) -> None:
    """Checks that no other conversation uses the sandbox of this conversation. The network policy of a
    sandbox depends on the repositories of all its conversations, so another repository would change the
    policy for the other conversations. Raises Conflict `sandbox_shared` if there is another conversation.
    """
    await session.get(Sandbox, conversation.sandbox_id, with_for_update=True)
    if len(await residents_of(session, conversation.sandbox_id)) > 1:
        raise Conflict(
            "Other conversations work in the same sandbox: another repository may have other network rules.",
            code="sandbox_shared",
            fix="Start another conversation from that repository.",
        )
