"""The database table of the retention rule. The rule says when conversations without activity are archived or
deleted.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import JSON, Integer
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

RULE_ID: Final = 1


class RetentionAction(StrEnum):
    ARCHIVE = "archive"
    DELETE = "delete"


class RetentionRule(Base):
    """The row with the retention rule of the installation. There is at most one row, with the id RULE_ID.
    Without a row, all conversations are kept.

    `days`: for how many days a conversation must have no activity. `kept_tags`: each is `key` or `key:value`;
    the rule does not apply to a conversation that has one of these tags.
    """

    __tablename__ = "retention_rules"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    days: Mapped[int]
    action: Mapped[RetentionAction] = mapped_column(enum_column(RetentionAction))
    kept_tags: Mapped[list[str]] = mapped_column(JSON)
    changed_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
