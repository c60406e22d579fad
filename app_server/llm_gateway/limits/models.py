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
    """One row of the table of spending accounts: the spent amount and the limit of a user in the current
    period, or of a conversation over its whole life. The row's id is the id of that user or conversation.

    A user has a second account for the administrator's limit. Only this account has a value in
    `follows_default`, which says whether the default limit for all users applies.

    `allowed`: the limit; None means no limit. `raised`: the amount that the user has added to the limit for
    this period. `share`: the additional amount that a conversation gets when the user lets it continue after
    its budget is spent. A third account of the user has no limit and counts what the user spends in each
    month.
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
    """What programs in the sandbox have used, as ProgramUsage. Only a conversation's account has it. It is
    part of `spent`.
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
    deleted when the call ends. If its server dies, the row is deleted after the time for which it is valid.
    """

    __tablename__ = "spending_reservations"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("spending_accounts.id", ondelete="CASCADE"), index=True
    )
    call_id: Mapped[UUID] = mapped_column(index=True)
    amount: Mapped[int] = mapped_column(BigInteger)
    lease_until: Mapped[datetime]
