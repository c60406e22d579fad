"""The background job that archives or deletes conversations that had no activity for some days. The retention
rule, which an administrator sets, says after how many days this happens, and whether the conversations are
archived or deleted.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.audit.actions import AuditAction, AuditTarget
from app_server.audit.chain import SERVER, NewEntry, record
from app_server.conversations import service
from app_server.conversations.live.change_notices import News, channels_of, news_of
from app_server.conversations.models import Conversation
from app_server.conversations.retention.models import RetentionAction
from app_server.conversations.retention.rule import (
    Rule,
    due_conversations,
    has_sub_conversations,
    is_due,
    rule_in_force,
)
from app_server.conversations.view import Viewer
from app_server.core.database import Database, now
from app_server.core.jobs.policy import Handler, JobAttempt
from app_server.core.pubsub import PubSub
from app_server.events.stream import DELETED
from app_server.sandboxes.service import Sandboxes

KIND: Final = "conversations.retain"
EVERY: Final = timedelta(hours=1)
_AT_ONCE = 20
_MOST = 1000
"""The maximum number of conversations that one run of the job changes. The next run of the job changes the
remaining conversations.
"""


def retainer(
    database: Database, pubsub: PubSub, sandboxes: Sandboxes, on_deleted: Callable[[], None]
) -> Handler:
    """Returns the function that the job runner calls to run the retention job. This function archives or
    deletes the conversations that the retention rule applies to.

    on_deleted: a function that is called after conversations were deleted. It wakes the start worker (a
    background task of the app server), which then removes the data of these conversations.
    """

    async def retain(_attempt: JobAttempt) -> dict[str, Any] | None:
        async with database.read() as session:
            rule = await rule_in_force(session)
            due = await due_conversations(session, rule) if rule else []
        if rule is None:
            return None
        count = 0
        for begin in range(0, min(len(due), _MOST), _AT_ONCE):
            # In short transactions: other writers do not wait, and a run that is cut off loses nothing.
            async with database.session() as session:
                news = await _apply(session, Viewer(sandboxes), rule, due[begin : begin + _AT_ONCE])
            for each in news:
                each.publish(pubsub)
            count += len(news)
        if count and rule.action == RetentionAction.DELETE:
            on_deleted()
        return {"action": rule.action, "conversations": count}

    return retain


async def _apply(session: AsyncSession, viewer: Viewer, rule: Rule, ids: Sequence[UUID]) -> list[News]:
    """Archives or deletes the conversations with these ids, as the retention rule says. Skips each
    conversation that the rule no longer applies to, for example because it was used in the meantime.

    Returns one News object for each changed conversation. After the commit, the caller publishes these
    objects, so that the pages that users have open show the change.
    """
    news: list[News] = []
    for conversation_id in ids:
        # Handled one after the other, because a parent becomes due only when its sub-conversations are
        # deleted.
        still = select(Conversation).where(Conversation.id == conversation_id, is_due(rule))
        if rule.action == RetentionAction.DELETE:
            still = still.where(~has_sub_conversations())
        conversation = await session.scalar(still.with_for_update())
        if conversation is None:
            continue
        if rule.action == RetentionAction.DELETE:
            news.append(News(conversation_id, [DELETED], await channels_of(session, conversation_id)))
            await service.delete(session, conversation.user_id, conversation_id)
        else:
            conversation.archived_at = now()
            await session.flush()
            news.append(await news_of(session, viewer, conversation_id))
        details = {"how": rule.action, "days": rule.days, "owner": conversation.user_id.hex}
        target = AuditTarget.CONVERSATION
        entry = NewEntry(
            SERVER, AuditAction.CONVERSATION_RETIRED, target, conversation_id.hex, details=details
        )
        record(session, entry)
    return news
