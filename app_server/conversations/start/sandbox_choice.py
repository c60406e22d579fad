"""Chooses the sandbox for a new conversation: a new sandbox, or a sandbox of the same user that already has a
conversation.

A conversation joins an existing sandbox only if this sandbox has the kind, the image and the network policy
that a new sandbox for this conversation would get. In a sandbox with several conversations, each conversation
has a separate directory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.egress_notices import repositories_of
from app_server.conversations.models import Conversation
from app_server.conversations.schemas import StartRequest
from app_server.core.config import Config
from app_server.core.errors import AppError, BadRequest, Conflict, NotFound
from app_server.egress.credentials.credentials import have_own
from app_server.egress.settings import policy_of
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandbox_specs.service import Origin
from app_server.settings.grouping import GroupingStrategy, grouping_of
from app_server.teams.repositories.first_team import team_of_sandbox
from app_server.users.models import User

_JOINABLE = (SandboxStatus.RUNNING, SandboxStatus.STARTING, SandboxStatus.PAUSED)
MAX_LOOKED_AT = 50


@dataclass(frozen=True)
class NewConversation:
    """A new conversation for which a sandbox is chosen.

    backend: the kind of sandboxes that this server creates, such as `docker`. origin: the base image and the
    runtime plugins (programs such as VS Code) that a new sandbox for this conversation would have.
    takes_any_image: whether the conversation may also use a sandbox with a different base image or different
    plugins. repository: the identity (`host/owner/name` or a path) of the conversation's first repository;
    None if it has no repository. team_id: the user's team that owns the repository; None if no team owns the
    repository.
    """

    id: UUID
    user_id: UUID
    backend: str
    origin: Origin
    takes_any_image: bool
    repository: str | None
    team_id: UUID | None


@dataclass(frozen=True)
class SandboxPlacement:
    """The sandbox and the folder that were chosen for a new conversation.

    `folder`: the folder for the conversation's files, inside the root directory for work in the sandbox. None
    means that the conversation uses the whole root directory. `is_open`: whether the sandbox is new and later
    conversations may share it.
    """

    sandbox_id: UUID
    folder: str | None
    is_open: bool = False


async def choose_sandbox(
    session: AsyncSession, config: Config, new_conversation: NewConversation, request: StartRequest
) -> SandboxPlacement:
    """Chooses the sandbox for the new conversation and the folder in this sandbox, and returns both. Takes
    the sandbox that the request names, if it names one. Otherwise takes a sandbox that several conversations
    of the user can share, or a new sandbox.

    Raises BadRequest `two_origins` if the request names both a sandbox and a snapshot. If the request names a
    sandbox that the conversation cannot use, raises NotFound or Conflict with the reason.
    """
    alone = SandboxPlacement(new_conversation.id, None)
    if request.snapshot_id is not None:
        if request.sandbox_id is not None:
            raise BadRequest(
                "A conversation that begins from a snapshot needs a separate sandbox.",
                code="two_origins",
                fix="Leave out sandbox_id or snapshot_id.",
            )
        return alone
    if request.sandbox_id is not None:
        await join(session, config, new_conversation, request.sandbox_id)
        return SandboxPlacement(request.sandbox_id, new_conversation.id.hex)
    strategy = await grouping_of(session, new_conversation.user_id)
    if strategy is GroupingStrategy.NO_GROUPING:
        return alone
    # Starts of one user choose one after the other: each start, on any app server, must see which sandbox the
    # start before it has joined or will get. `FOR NO KEY UPDATE` is used, because it does not block inserts
    # of rows that refer to the user.
    await session.execute(
        select(User.id).where(User.id == new_conversation.user_id).with_for_update(key_share=True)
    )
    found = await find(session, config, new_conversation, strategy)
    return SandboxPlacement(found or new_conversation.id, new_conversation.id.hex, is_open=found is None)


async def join(
    session: AsyncSession, config: Config, new_conversation: NewConversation, sandbox_id: UUID
) -> None:
    """Checks that the new conversation may use this sandbox together with the conversations that are already
    there. The sandbox's row stays locked until the transaction ends.

    Raises NotFound `sandbox_not_found` if the user has no such sandbox. Raises NotFound `sandbox_gone` if the
    sandbox is being deleted. Raises Conflict if the sandbox is archived, has failed, has too many
    conversations, or has a conversation that uses the whole root directory for work. Raises Conflict also if
    the new conversation needs another kind of sandbox, another image or another network policy.
    """
    sandbox = await session.get(Sandbox, sandbox_id, with_for_update=True, populate_existing=True)
    if sandbox is None or sandbox.user_id != new_conversation.user_id:
        raise NotFound("No such sandbox.", code="sandbox_not_found")
    _require_kind(sandbox, new_conversation)
    _require_status(sandbox)
    residents = await residents_of(session, sandbox_id)
    await _require_life(session, sandbox_id, residents)
    _require_joinable(config, residents)
    if not await _has_the_same_way_out(session, config, new_conversation, sandbox_id):
        raise Conflict(
            "That sandbox has other network rules or other credentials than this conversation.",
            code="sandbox_policy_differs",
            fix="Give both repositories the same network settings, or choose a separate sandbox for it.",
        )


async def _has_the_same_way_out(
    session: AsyncSession, config: Config, new_conversation: NewConversation, sandbox_id: UUID
) -> bool:
    """Returns whether the new conversation can share the network access of the sandbox with the conversations
    that are already there. All of these conditions must be met:

    First, the new conversation would have the same network policy in a separate sandbox. Second, if the
    conversations have different repositories, the user has saved no network credential for any of these
    repositories. Otherwise conversations of another repository could use this credential. Third, all
    repositories belong to the same team, or none belongs to a team.
    """
    user_id, there = new_conversation.user_id, await repositories_of(session, sandbox_id)
    # A sandbox has the level of one team: its secrets, MCP servers and rules of the network.
    if there and await team_of_sandbox(session, sandbox_id) != new_conversation.team_id:
        return False
    together = {*there, new_conversation.repository}
    if len(together) > 1 and await have_own(session, user_id, [*together]):
        return False
    alone = await policy_of(
        session, config, user_id, repositories=[new_conversation.repository], sandbox_id=new_conversation.id
    )
    theirs = await policy_of(session, config, user_id, repositories=there, sandbox_id=sandbox_id)
    return alone.equals(theirs)


async def find(
    session: AsyncSession, config: Config, new_conversation: NewConversation, strategy: GroupingStrategy
) -> UUID | None:
    """Returns the id of a sandbox of the user that the new conversation can share with other conversations.
    First tries the sandboxes that are not paused, and then the paused ones. `strategy`: the order within each
    of these two groups, as the user has set it. Returns None if none of the tried sandboxes can be shared, so
    that a new sandbox must be created.
    """
    for sandbox_id in await _candidates(session, new_conversation.user_id, strategy):
        try:
            await join(session, config, new_conversation, sandbox_id)
        except AppError:
            continue  # the sandbox cannot be joined
        return sandbox_id
    return None


async def _candidates(session: AsyncSession, user_id: UUID, strategy: GroupingStrategy) -> Sequence[UUID]:
    number, last_used = func.count(Conversation.id), func.max(Conversation.updated_at)
    order: dict[GroupingStrategy, ColumnElement[Any]] = {
        GroupingStrategy.GROUP_BY_NEWEST: Sandbox.created_at.desc(),
        GroupingStrategy.LEAST_RECENTLY_USED: last_used.asc(),
        GroupingStrategy.FEWEST_CONVERSATIONS: number.asc(),
    }
    sleeps_last = (Sandbox.status == SandboxStatus.PAUSED).asc()
    query = (
        select(Sandbox.id)
        .join(Conversation, Conversation.sandbox_id == Sandbox.id)
        .where(
            Sandbox.user_id == user_id,
            Sandbox.status.in_(_JOINABLE),
            Conversation.deleted_at.is_(None),
        )
        .group_by(Sandbox.id, Sandbox.status, Sandbox.created_at)
        .order_by(sleeps_last, order.get(strategy, Sandbox.created_at.asc()), Sandbox.id)
        .limit(MAX_LOOKED_AT)
    )
    return (await session.scalars(query)).all()


def _require_kind(sandbox: Sandbox, new_conversation: NewConversation) -> None:
    if (sandbox.spec_id == PROCESS) != (new_conversation.backend == PROCESS):
        raise Conflict(
            f"That sandbox is of another kind ({sandbox.spec_id}) than the new sandboxes of this server.",
            code="sandbox_of_other_kind",
            fix="Start without sandbox_id.",
        )
    if (
        Origin(sandbox.base_image, sandbox.runtime_plugins) != new_conversation.origin
        and not new_conversation.takes_any_image
    ):
        raise Conflict(
            "That sandbox was started from another image than the chosen one.",
            code="sandbox_of_other_image",
            fix="Leave out sandbox_spec_id to take the image it has, or start without sandbox_id.",
        )


def _require_status(sandbox: Sandbox) -> None:
    if sandbox.status == SandboxStatus.ARCHIVED:
        raise Conflict(
            "That sandbox is archived.",
            code="sandbox_archived",
            fix="Bring it back first: send a message to one of its conversations.",
        )
    if sandbox.status not in _JOINABLE:
        raise Conflict(
            "That sandbox has failed.",
            code="sandbox_failed",
            fix="Resume it from one of its conversations, or start without sandbox_id.",
        )


async def _require_life(session: AsyncSession, sandbox_id: UUID, residents: Sequence[Conversation]) -> None:
    """Checks that the sandbox is not being deleted. A sandbox is deleted when its last conversation is
    deleted. `residents`: the conversations that use the sandbox now. Raises NotFound `sandbox_gone` if the
    sandbox had conversations and `residents` is empty.
    """
    had_one = exists().where(Conversation.sandbox_id == sandbox_id)
    if not residents and await session.scalar(select(had_one)):
        raise NotFound("That sandbox is being removed: its conversations were deleted.", code="sandbox_gone")


def _require_joinable(config: Config, residents: Sequence[Conversation]) -> None:
    if len(residents) >= config.sandbox_max_conversations:
        raise Conflict(
            f"That sandbox has {len(residents)} conversations, which is the limit.",
            code="sandbox_full",
            fix="Delete one of them, or start without sandbox_id.",
        )
    if any(each.folder is None and _began_empty(each) for each in residents):
        raise Conflict(
            "The conversation in that sandbox started without a repository and uses the whole project "
            "directory, so no other conversation can join.",
            code="sandbox_not_shareable",
            fix="Start without sandbox_id.",
        )


def _began_empty(conversation: Conversation) -> bool:
    if conversation.first_repository is None:
        return conversation.selected_repository is None
    return not conversation.first_repository
