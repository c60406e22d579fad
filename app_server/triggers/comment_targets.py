"""Finds the issues and pull requests at git hosts on which Slipway comments about a conversation."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.comments import CommentTarget
from app_server.git_hosts.schemas import ItemKind, PullRequestState
from app_server.pull_requests.service import rows_of
from app_server.triggers.models import Trigger, TriggeredConversation


async def comment_targets_of(session: AsyncSession, conversation_id: UUID) -> Sequence[CommentTarget]:
    """Returns the issues and pull requests on which Slipway comments about a conversation. These are the open
    pull requests of the conversation.

    If the conversation has no open pull requests, returns the issue or pull request about which a trigger has
    started the conversation. If a push or a person has started the conversation, returns an empty list
    instead.
    """
    opened = [
        CommentTarget(row.origin, row.repository, ItemKind.PULL_REQUEST, row.number)
        for row in await rows_of(session, conversation_id)
        if row.state is PullRequestState.OPEN
    ]
    link = await session.get(TriggeredConversation, conversation_id)
    if opened or link is None or link.number is None:
        return opened
    trigger = await session.get_one(Trigger, link.trigger_id)
    kind = ItemKind.PULL_REQUEST if link.is_pull_request else ItemKind.ISSUE
    return [CommentTarget(trigger.origin, trigger.repository, kind, link.number)]
