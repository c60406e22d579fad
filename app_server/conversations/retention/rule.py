"""Selects the conversations that a retention rule archives or deletes. A retention rule applies to
conversations without activity for a number of days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app_server.conversations.listing import has_tag
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.retention.models import RULE_ID, RetentionAction, RetentionRule
from app_server.core.database import now
from app_server.sandbox_records.models import Sandbox, SandboxStatus

_AT_WORK = ("running", "waiting_for_confirmation")


@dataclass(frozen=True)
class Rule:
    """A retention rule: what happens to conversations without activity. It is the stored rule, or a rule
    whose effect an administrator previews.

    `days`: after how many days without activity the rule applies. `action`: archive or delete. `kept_tags`:
    the rule does not apply to conversations with one of these tags (`key` or `key:value`).
    """

    days: int
    action: RetentionAction
    kept_tags: Sequence[str] = ()


async def rule_in_force(session: AsyncSession) -> Rule | None:
    stored = await session.get(RetentionRule, RULE_ID)
    return None if stored is None else Rule(stored.days, stored.action, tuple(stored.kept_tags))


def is_due(rule: Rule) -> ColumnElement[bool]:
    """Returns the SQL condition that is true for conversations that the retention rule applies to. The rule
    never applies to a conversation that is starting, or whose agent works or waits for an approval in a
    running sandbox.

    Callers must check sub-conversations themselves: a conversation must not be deleted while it has a
    sub-conversation that the rule does not apply to.
    """
    settled = exists().where(
        StartTask.id == Conversation.id, StartTask.status.in_((StartStatus.READY, StartStatus.ERROR))
    )
    is_up = exists().where(Sandbox.id == Conversation.sandbox_id, Sandbox.status == SandboxStatus.RUNNING)
    at_work = Conversation.execution_status.is_not(None) & Conversation.execution_status.in_(_AT_WORK)
    due = (
        Conversation.deleted_at.is_(None)
        & (Conversation.updated_at < now() - timedelta(days=rule.days))
        & settled
        & ~(at_work & is_up)
    )
    if rule.action == RetentionAction.ARCHIVE:
        due &= Conversation.archived_at.is_(None)
    if rule.kept_tags:
        due &= ~or_(*(has_tag(tag) for tag in rule.kept_tags))
    return due


def has_sub_conversations() -> ColumnElement[bool]:
    child = aliased(Conversation)
    children = select(child.id).where(
        child.parent_conversation_id == Conversation.id, child.deleted_at.is_(None)
    )
    return children.exists()


async def due_conversations(session: AsyncSession, rule: Rule) -> list[UUID]:
    """Returns the ids of the conversations that the retention rule archives or deletes now. The newest come
    first, so sub-conversations come before their parents.

    If the rule deletes, all conversations above a sub-conversation that must stay are left out, because
    deleting a conversation also deletes its sub-conversations. A sub-conversation must stay if the rule does
    not apply to it.
    """
    query = select(Conversation.id).where(is_due(rule)).order_by(Conversation.created_at.desc())
    due = list(await session.scalars(query))
    if rule.action == RetentionAction.ARCHIVE:
        return due
    families = select(Conversation.parent_conversation_id, Conversation.id).where(
        Conversation.parent_conversation_id.is_not(None), Conversation.deleted_at.is_(None)
    )
    parents = {child: parent for parent, child in await session.execute(families)}
    stay = {child for child in parents if child not in set(due)}
    waiting = list(stay)
    while waiting:
        parent = parents.get(waiting.pop())
        if parent is not None and parent not in stay:
            stay.add(parent)
            waiting.append(parent)
    return [each for each in due if each not in stay]
