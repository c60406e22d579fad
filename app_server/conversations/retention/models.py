"""The database table with the retention rule. The rule says after how many days without activity
conversations are archived or deleted.
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
    """One row of the table of the retention rule. There is at most one row, with the id RULE_ID. Without this
    row, no conversation is archived or deleted automatically.

    days: the number of days without activity. kept_tags: each text is `key` or `key:value`; the rule does not
    apply to a conversation with one of these tags.
    """

    __tablename__ = "retention_rules"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    days: Mapped[int]
    action: Mapped[RetentionAction] = mapped_column(enum_column(RetentionAction))
    kept_tags: Mapped[list[str]] = mapped_column(JSON)
    changed_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
