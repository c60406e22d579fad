"""The setting that decides whether new conversations share sandboxes and how a sandbox is chosen, with its
routes. The values of the setting have the same names as in OpenHands, whose clients can use Slipway.
"""

from enum import StrEnum
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import CurrentUser
from app_server.core.database import ReadSession, Session
from app_server.http.strict_body import StrictBody
from app_server.levels.models import SettingName
from app_server.levels.service import save_own, value_for

router = APIRouter(prefix="/api/v1/settings/sandbox-grouping", tags=["Settings"])


class GroupingStrategy(StrEnum):
    """The way in which a sandbox is chosen for a new conversation.

    `NO_GROUPING`: each conversation gets a new sandbox. With each other value, the conversation shares an
    existing sandbox of the user that can take one more conversation. If there is none, it gets a new sandbox.
    Sandboxes that sleep are chosen only if no other sandbox can be used. `GROUP_BY_NEWEST`: the newest
    sandbox. `LEAST_RECENTLY_USED`: the sandbox that was not used for the longest time.
    `FEWEST_CONVERSATIONS`: the sandbox with the fewest conversations. `ADD_TO_ANY`: the oldest sandbox.
    """

    NO_GROUPING = "NO_GROUPING"
    GROUP_BY_NEWEST = "GROUP_BY_NEWEST"
    LEAST_RECENTLY_USED = "LEAST_RECENTLY_USED"
    FEWEST_CONVERSATIONS = "FEWEST_CONVERSATIONS"
    ADD_TO_ANY = "ADD_TO_ANY"


class SetSandboxGrouping(StrictBody):
    sandbox_grouping_strategy: GroupingStrategy


class SandboxGrouping(SetSandboxGrouping):
    """The HTTP reply with the strategy that chooses a sandbox for the user's new conversations.
    `max_conversations_per_sandbox`: the maximum number of conversations in one sandbox.
    """

    model_config = ConfigDict(extra="ignore")

    max_conversations_per_sandbox: int


async def grouping_of(session: AsyncSession, user_id: UUID) -> GroupingStrategy:
    """Returns the strategy that chooses a sandbox for a user's new conversations. Returns `NO_GROUPING` if
    neither the user, a team of the user nor the organisation has set one.
    """
    chosen = await value_for(session, user_id, SettingName.SANDBOX_GROUPING_STRATEGY)
    return GroupingStrategy.NO_GROUPING if chosen is None else GroupingStrategy(chosen.value)


@router.get("")
async def get_sandbox_grouping(user: CurrentUser, session: ReadSession, request: Request) -> SandboxGrouping:
    return _sandbox_grouping(request, await grouping_of(session, user.id))


@router.put("")
async def set_sandbox_grouping(
    user: CurrentUser, session: Session, body: SetSandboxGrouping, request: Request
) -> SandboxGrouping:
    """Sets the strategy that chooses a sandbox for the user's new conversations. Existing conversations stay
    in their sandboxes. Replies 403 `setting_enforced` if the organisation or a team has set another strategy
    that users cannot override.
    """
    strategy = body.sandbox_grouping_strategy
    await save_own(session, user.id, SettingName.SANDBOX_GROUPING_STRATEGY, strategy.value)
    return _sandbox_grouping(request, strategy)


def _sandbox_grouping(request: Request, strategy: GroupingStrategy) -> SandboxGrouping:
    return SandboxGrouping(
        sandbox_grouping_strategy=strategy,
        max_conversations_per_sandbox=request.state.config.sandbox_max_conversations,
    )
