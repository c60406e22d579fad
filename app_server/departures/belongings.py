"""Counts what a person owns, such as conversations and model profiles, before the person is deleted."""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.models import Callback
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.departures.schemas import Belongings
from app_server.git.models import GitCredential
from app_server.mcp_servers.models import McpServer
from app_server.memory.models import MemoryNote
from app_server.sandbox_records.models import SandboxSpec
from app_server.secrets.models import Secret
from app_server.settings.models import LLMProfile
from app_server.triggers.models import Trigger
from app_server.users.models import ApiKey


async def belongings_of(session: AsyncSession, person_id: UUID) -> Belongings:
    async def count(table: type[Any], *conditions: ColumnElement[bool]) -> int:
        query = select(func.count()).select_from(table).where(table.user_id == person_id, *conditions)
        return await session.scalar(query) or 0

    ended = (StartStatus.READY, StartStatus.ERROR)
    return Belongings(
        conversations=await count(Conversation, Conversation.deleted_at.is_(None)),
        profiles=await count(LLMProfile),
        shared_profiles=await count(LLMProfile, LLMProfile.shared_in.is_not(None)),
        callbacks=await count(Callback),
        triggers=await count(Trigger),
        starting=await count(StartTask, StartTask.status.not_in(ended)),
        secrets=await count(Secret),
        git_credentials=await count(GitCredential),
        mcp_servers=await count(McpServer),
        notes=await count(MemoryNote),
        sandbox_specs=await count(SandboxSpec),
        api_keys=await count(ApiKey),
    )
