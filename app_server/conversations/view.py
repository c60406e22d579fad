"""Converts database rows of conversations and start tasks (the progress of starting a conversation) into the
API's models and into messages (frames) of the live streams.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.log import prompt_cache
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.protocol_schemas import MetricsSnapshot
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.conversations.schemas import AppConversation, ConversationGoal, SandboxError, StartTaskInfo
from app_server.conversations.sharing.access import Access, is_shared, visible_to, widest
from app_server.conversations.sharing.models import ConversationShare, ConversationTeamShare, ShareRole
from app_server.core.database import Database
from app_server.core.errors import Conflict
from app_server.core.pubsub import Frame
from app_server.llm_gateway.limits.models import SpendingAccount
from app_server.llm_gateway.limits.program_usage import ProgramUsage
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes
from app_server.teams.membership import teams_of
from app_server.users.models import User

Item = TypeVar("Item")
Stored = dict[str, Any] | None
Row = tuple[
    Conversation,
    StartTask,
    SandboxStatus | None,
    Stored,
    Stored,
    str,
    bool,
    ShareRole | None,
    ShareRole | None,
]


def conversation_rows(
    user_id: UUID | None,
) -> Select[
    Conversation,
    StartTask,
    SandboxStatus | None,
    Stored,
    Stored,
    str,
    bool,
    ShareRole | None,
    ShareRole | None,
]:
    """Returns the SQL query for the conversations that one user may see. Each row of its result has all that
    `Viewer.show` needs to show a conversation in the API.

    `user_id`: the user; None means the conversations of all users. None is for internal use only.
    """
    given = (
        select(ConversationShare.role)
        .where(ConversationShare.conversation_id == Conversation.id, ConversationShare.user_id == user_id)
        .scalar_subquery()
    )
    # Of the two roles, `steer` comes first in the alphabet. A person may be in several teams.
    given_to_teams = (
        select(func.min(ConversationTeamShare.role))
        .where(
            ConversationTeamShare.conversation_id == Conversation.id,
            ConversationTeamShare.team_id.in_(teams_of(user_id)),
        )
        .scalar_subquery()
    )
    query = (
        select(
            Conversation,
            StartTask,
            Sandbox.status,
            Sandbox.error,
            SpendingAccount.program_usage,
            User.name,
            is_shared(),
            given.label("given"),
            given_to_teams.label("given_to_teams"),
        )
        .join(StartTask, StartTask.id == Conversation.id)
        .join(User, User.id == Conversation.user_id)
        .outerjoin(Sandbox, Sandbox.id == Conversation.sandbox_id)
        .outerjoin(SpendingAccount, SpendingAccount.id == Conversation.id)
        .where(Conversation.deleted_at.is_(None))
    )
    return query if user_id is None else query.where(visible_to(user_id))


@dataclass(frozen=True)
class Viewer:
    """A converter from conversation rows to API models. `sandboxes`: the object with which the converter
    finds out whether a conversation's sandbox runs now.
    """

    sandboxes: Sandboxes

    def show(self, row: Row, user_id: UUID | None = None) -> AppConversation:
        """Returns the API model of the conversation in this row. `user_id`: the user who sends the request;
        the model's field `access` says what access this user has to the conversation. If `user_id` is None,
        `access` is null: the model is then for all clients that follow the conversation, and not for one
        user.
        """
        conversation, task, stored, error, by_programs, owner_name, shared, *given = row
        status = self._sandbox_status(conversation.sandbox_id, task, stored)
        client = self.sandboxes.client(conversation.sandbox_id) if status == SandboxStatus.RUNNING else None
        return AppConversation(
            id=conversation.id,
            created_by_user_id=conversation.user_id,
            sandbox_id=conversation.sandbox_id,
            selected_repository=conversation.selected_repository,
            selected_branch=conversation.selected_branch,
            selected_directory=conversation.selected_directory,
            git_provider=conversation.git_provider,
            more_repositories=KeptRepository.all_of(conversation.more_repositories),
            title=conversation.title,
            tags=conversation.tags,
            archived=conversation.archived_at is not None,
            trigger=conversation.trigger,
            pr_number=conversation.pr_number,
            parent_conversation_id=conversation.parent_conversation_id,
            sub_conversation_ids=conversation.sub_conversation_ids,
            forked_from_conversation_id=conversation.forked_from_conversation_id,
            llm_model=conversation.llm_model,
            llm_profile=conversation.llm_profile,
            metrics=MetricsSnapshot.model_validate(conversation.metrics) if conversation.metrics else None,
            prompt_cache=prompt_cache.cache_statistics(conversation.metrics),
            program_usage=ProgramUsage.model_validate(by_programs) if by_programs else None,
            public=conversation.everyone_role is not None,
            goal=ConversationGoal.model_validate(conversation.goal) if conversation.goal else None,
            created_at=conversation.created_at,
            updated_at=conversation.updated_at,
            sandbox_status=status,
            sandbox_error=SandboxError.model_validate(error) if error else None,
            execution_status=conversation.execution_status if client else None,
            conversation_url=None,
            needs_you=_needed(conversation) if client else None,
            start_status=task.status,
            last_seq=conversation.last_seq,
            owner_name=owner_name,
            is_shared=shared,
            access=_access(conversation, given, user_id),
        )

    async def find(
        self, session: AsyncSession, conversation_id: UUID, *, user_id: UUID | None = None
    ) -> AppConversation | None:
        query = conversation_rows(user_id).where(Conversation.id == conversation_id)
        row = (await session.execute(query)).one_or_none()
        return self.show(row, user_id) if row else None

    async def frames(self, session: AsyncSession, conversation_id: UUID) -> list[Frame]:
        """Returns the messages (frames) with the current state of the conversation and of its start task (the
        progress of its start), for the clients that follow the conversation. Returns no frames if there is no
        such conversation.
        """
        query = conversation_rows(None).where(Conversation.id == conversation_id)
        row = (await session.execute(query)).one_or_none()
        return [start_task_frame(row[1]), conversation_frame(self.show(row))] if row else []

    def _sandbox_status(
        self, sandbox_id: UUID, task: StartTask, stored: SandboxStatus | None
    ) -> SandboxStatus:
        if stored is None:
            # A READY conversation without a sandbox was imported.
            ended = task.status in {StartStatus.ERROR, StartStatus.READY}
            return SandboxStatus.MISSING if ended else SandboxStatus.STARTING
        if stored != SandboxStatus.RUNNING:
            return SandboxStatus(stored)
        try:
            self.sandboxes.client(sandbox_id)
        except Conflict:
            # The sandbox should run and is being started again.
            return SandboxStatus.STARTING
        return SandboxStatus.RUNNING


def _needed(conversation: Conversation) -> Literal["approval", "answer"] | None:
    if conversation.execution_status == "waiting_for_confirmation":
        return "approval"
    return "answer" if conversation.open_questions else None


def _access(
    conversation: Conversation, given: Sequence[ShareRole | None], user_id: UUID | None
) -> Access | None:
    if user_id is None:
        return None
    return Access.OWN if conversation.user_id == user_id else widest(*given, conversation.everyone_role)


async def position_of(database: Database, sandbox_id: UUID) -> int:
    """Returns the number of events in the event logs of all conversations in the sandbox, added together. A
    backup of the sandbox stores this number; if the number has grown since, the backup is out of date.
    Returns 0 if the sandbox has no conversations.
    """
    query = select(func.sum(Conversation.last_seq)).where(Conversation.sandbox_id == sandbox_id)
    async with database.read() as session:
        return int(await session.scalar(query) or 0)


def show_task(task: StartTask, agent_server_url: str | None = None) -> StartTaskInfo:
    """Returns the API model of the start task (the progress of starting a conversation). agent_server_url:
    the URL at which the user who sends the request reaches the agent server; None leaves the URL out.
    """
    return StartTaskInfo.model_validate(
        {
            "id": task.id,
            "created_by_user_id": task.user_id,
            "status": task.status,
            "detail": task.detail,
            "app_conversation_id": task.id,
            "sandbox_id": task.sandbox_id,
            "agent_server_url": agent_server_url,
            "request": task.request,
            "created_at": task.created_at,
            "updated_at": task.updated_at,
            "stages": task.stages,
            "error": task.error,
        }
    )


def start_task_frame(task: StartTask) -> Frame:
    return Frame(f'{{"type":"start_task","task":{show_task(task).model_dump_json()}}}')


def conversation_frame(conversation: AppConversation) -> Frame:
    return Frame(f'{{"type":"conversation","conversation":{conversation.model_dump_json()}}}')


def in_order(ids: Sequence[UUID], found: dict[UUID, Item]) -> list[Item | None]:
    """Returns the items in the order of `ids`. The list contains None for each id that is not in `found`.
    `found`: the items by id.
    """
    return [found.get(each) for each in ids]
