"""The setting that decides whether new conversations share sandboxes, and how a sandbox is chosen. The names
are those of OpenHands.
"""

from enum import StrEnum
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import CurrentUser
from app_server.core.database import ReadSession, Session
from app_server.settings.models import UserSettings

router = APIRouter(prefix="/api/v1/settings/sandbox-grouping", tags=["Settings"])


class GroupingStrategy(StrEnum):
    """How a new conversation gets its sandbox.

    `NO_GROUPING`: each conversation gets a new sandbox. The other values choose one of the user's sandboxes
    that have room: the newest, the least recently used, the sandbox with the fewest conversations, or any.
    """

    NO_GROUPING = "NO_GROUPING"
    GROUP_BY_NEWEST = "GROUP_BY_NEWEST"
    LEAST_RECENTLY_USED = "LEAST_RECENTLY_USED"
    FEWEST_CONVERSATIONS = "FEWEST_CONVERSATIONS"
    ADD_TO_ANY = "ADD_TO_ANY"


class SetSandboxGrouping(BaseModel):
    sandbox_grouping_strategy: GroupingStrategy


class SandboxGrouping(SetSandboxGrouping):
    """The user's setting. `max_conversations_per_sandbox`: the most conversations that a sandbox takes."""

    max_conversations_per_sandbox: int


async def grouping_of(session: AsyncSession, user_id: UUID) -> GroupingStrategy:
    settings = await session.get(UserSettings, user_id)
    chosen = settings.sandbox_grouping_strategy if settings else None
    return GroupingStrategy(chosen) if chosen else GroupingStrategy.NO_GROUPING


@router.get("")
async def get_sandbox_grouping(user: CurrentUser, session: ReadSession, request: Request) -> SandboxGrouping:
    return _shown(request, await grouping_of(session, user.id))


@router.put("")
async def set_sandbox_grouping(
    user: CurrentUser, session: Session, body: SetSandboxGrouping, request: Request
) -> SandboxGrouping:
    """Sets the strategy. It applies to conversations that start from now on; existing conversations stay
    where they are.
    """
    strategy = body.sandbox_grouping_strategy
    await session.merge(UserSettings(user_id=user.id, sandbox_grouping_strategy=strategy.value))
    await session.flush()
    return _shown(request, strategy)


def _shown(request: Request, strategy: GroupingStrategy) -> SandboxGrouping:
    return SandboxGrouping(
        sandbox_grouping_strategy=strategy,
        max_conversations_per_sandbox=request.state.config.sandbox_max_conversations,
    )
