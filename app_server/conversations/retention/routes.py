"""Routes with which administrators set what happens to conversations that have no activity for a long
time.
"""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app_server.access.audit_trail import CurrentTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.retention.models import RULE_ID, RetentionAction, RetentionRule
from app_server.conversations.retention.rule import Rule, due_conversations, rule_in_force
from app_server.conversations.schemas import MAX_TAGS, TagFilter
from app_server.core.database import ReadSession, Session

router = APIRouter(prefix="/api/v1/administration/conversation-retention", tags=["Administration"])

MAX_DAYS = 3650


class RetentionSetting(BaseModel):
    """The setting of what happens to conversations without activity for `days` days: they are archived or
    deleted. If `days` is null, nothing happens.

    `kept_tags`: each text is `key` or `key:value`. Conversations with one of these tags are never archived or
    deleted by this setting.
    """

    model_config = ConfigDict(extra="forbid")

    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] | None = None
    action: RetentionAction = RetentionAction.ARCHIVE
    kept_tags: Annotated[list[TagFilter], Field(max_length=MAX_TAGS)] = []

    @property
    def rule(self) -> Rule | None:
        return None if self.days is None else Rule(self.days, self.action, tuple(self.kept_tags))


class RetentionPreview(BaseModel):
    """The reply of the preview of a retention setting. count: how many conversations the setting would
    archive or delete now.
    """

    count: int


@router.get("")
async def get_conversation_retention(session: ReadSession) -> RetentionSetting:
    rule = await rule_in_force(session)
    if rule is None:
        return RetentionSetting()
    return RetentionSetting(days=rule.days, action=rule.action, kept_tags=list(rule.kept_tags))


@router.put("")
async def set_conversation_retention(
    trail: CurrentTrail, session: Session, body: RetentionSetting
) -> RetentionSetting:
    """Saves the retention setting. Once an hour, a background job applies the setting to the conversations of
    all users. Conversations that the job deletes cannot be restored. Returns the saved setting.
    """
    stored = await session.get(RetentionRule, RULE_ID, with_for_update=True)
    if body.days is None:
        if stored is not None:
            await session.delete(stored)
    elif stored is None:
        session.add(RetentionRule(id=RULE_ID, days=body.days, action=body.action, kept_tags=body.kept_tags))
    else:
        stored.days, stored.action, stored.kept_tags = body.days, body.action, body.kept_tags
    trail.record(
        session,
        AuditAction.CONVERSATION_RETENTION_CHANGED,
        (AuditTarget.INSTALLATION, "conversation_retention"),
        days=body.days,
        how=None if body.days is None else body.action,
        kept_tags=", ".join(body.kept_tags) or None,
    )
    await session.flush()
    return body


@router.post("/preview")
async def preview_conversation_retention(session: ReadSession, body: RetentionSetting) -> RetentionPreview:
    """Returns how many conversations this retention setting would archive or delete now. Neither the setting
    nor the conversations are changed.
    """
    rule = body.rule
    return RetentionPreview(count=len(await due_conversations(session, rule)) if rule else 0)
