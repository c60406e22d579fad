"""Limits the number of events in each conversation of a user to the quota of this user."""

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.log.full_log import require_open
from app_server.conversations.models import Conversation
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_of, quota_reached


async def require_event_quota(session: AsyncSession, conversation: Conversation) -> None:
    """Checks that one more message may be added to the conversation's log. Raises LogFull if the log has its
    maximum size. Raises TooManyRequests `quota_reached` if the log already has the maximum number of events
    for one conversation. This number is a quota of the conversation's owner.
    """
    require_open(conversation)
    quota = await quota_of(session, conversation.user_id, SettingName.EVENTS_PER_CONVERSATION)
    if quota is not None and conversation.last_seq >= quota.value:
        raise quota_reached(SettingName.EVENTS_PER_CONVERSATION, quota)
