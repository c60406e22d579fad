"""Database rows for spending on models: limits, amounts spent and reservations. Amounts are whole millionths
of a dollar, so that sums are exact.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

MICROS = 1_000_000


class Period(StrEnum):
    """The possible periods of a spending limit: a day, a month, or (WHOLE) a period that never ends. Days and
    months begin in UTC. At the beginning of each period, the spent amount starts again from zero.
    """

    DAY = "day"
    MONTH = "month"
    WHOLE = "whole"


class SpendingAccount(Base):
    """One row of the table of spending accounts: an amount of money that was spent, and its limit.

    A conversation has one account. Its period is WHOLE, so the spent amount counts all costs of the
    conversation. The id of the account is the id of the conversation.

    A user has three accounts. The first has the limit that the user has set; its id is the id of the user.
    The second has the administrator's limit. The third has no limit and counts what the user spends in each
    month. The ids of these two are computed from the id of the user.

    `allowed`: the limit; None means no limit. `raised`: the amount that the user has added to the limit for
    this period. `share`: the first limit of a conversation; each time the user lets the conversation
    continue, it may spend this amount again. `follows_default`: whether the default limit for all users
    applies, because the user has no individual limit; None in all accounts except the one with the
    administrator's limit.
    """

    __tablename__ = "spending_accounts"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    period: Mapped[Period] = mapped_column(enum_column(Period))
    began_at: Mapped[datetime] = mapped_column(default=now)
    allowed: Mapped[int | None] = mapped_column(BigInteger)
    share: Mapped[int | None] = mapped_column(BigInteger)
    raised: Mapped[int] = mapped_column(BigInteger, default=0)
    spent: Mapped[int] = mapped_column(BigInteger, default=0)
    program_usage: Mapped[dict[str, Any] | None]
    """The token usage and cost of programs in the sandbox, in the form of ProgramUsage; None in accounts of
    users. The amount `spent` includes this cost.
    """
    follows_default: Mapped[bool | None]

    @property
    def is_administered(self) -> bool:
        return self.follows_default is not None

    @property
    def limit(self) -> int | None:
        return None if self.allowed is None else self.allowed + self.raised


class SpendingDefault(Base):
    """The database row with the default spending limit: how much each user without an individual limit may
    spend on models in one period. The table has only this row, which a migration creates. `allowed`: the
    limit in millionths of a dollar; None means no limit.
    """

    __tablename__ = "spending_defaults"

    id: Mapped[int] = mapped_column(primary_key=True)
    period: Mapped[Period] = mapped_column(enum_column(Period))
    allowed: Mapped[int | None] = mapped_column(BigInteger)


class SpendingReservation(Base):
    """One row of the table of reservations: the likely cost of a model call that is running. The row is
    deleted when the call ends. If the server of the call stops unexpectedly, the row is deleted after
    `lease_until`.
    """

    __tablename__ = "spending_reservations"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("spending_accounts.id", ondelete="CASCADE"), index=True
    )
    call_id: Mapped[UUID] = mapped_column(index=True)
    amount: Mapped[int] = mapped_column(BigInteger)
    lease_until: Mapped[datetime]
