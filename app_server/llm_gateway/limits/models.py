"""What may be spent on models and what is. Amounts are whole millionths of a dollar, which add up exactly."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

MICROS = 1_000_000


class Period(StrEnum):
    """How often a limit begins anew, in UTC. WHOLE: never."""

    DAY = "day"
    MONTH = "month"
    WHOLE = "whole"


class SpendingAccount(Base):
    """What one user has spent in the present period, or one conversation in all; its id is theirs.

    A user has a second one, for what an administrator allows: its periods are the administrator's.
    `follows_default` is of these alone: whether what is allowed is what everybody is allowed.

    `allowed`: None for any amount. `raised`: what the user has added to it for this period. `share`: what a
    conversation gets when it goes on after it has spent its budget.
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
    follows_default: Mapped[bool | None]

    @property
    def is_administered(self) -> bool:
        return self.follows_default is not None

    @property
    def limit(self) -> int | None:
        return None if self.allowed is None else self.allowed + self.raised


class SpendingDefault(Base):
    """What an administrator allows everybody. There is one row, from the beginning."""

    __tablename__ = "spending_defaults"

    id: Mapped[int] = mapped_column(primary_key=True)
    period: Mapped[Period] = mapped_column(enum_column(Period))
    allowed: Mapped[int | None] = mapped_column(BigInteger)


class SpendingReservation(Base):
    """What a call under way may cost. It ends with the call, or when its lease expires."""

    __tablename__ = "spending_reservations"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("spending_accounts.id", ondelete="CASCADE"), index=True
    )
    call_id: Mapped[UUID] = mapped_column(index=True)
    amount: Mapped[int] = mapped_column(BigInteger)
    lease_until: Mapped[datetime]
