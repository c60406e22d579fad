"""The database table of sign-ins of devices, such as a terminal (OAuth 2.0 Device Authorization Grant)."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class DeviceState(StrEnum):
    """The state of a device's sign-in: whether its user has allowed the sign-in, has refused it, or has not
    decided yet. The row of the sign-in is deleted when the device has got its API key.
    """

    PENDING = "pending"
    ALLOWED = "allowed"
    REFUSED = "refused"


class DeviceSignIn(Base):
    """One row of the table of sign-ins: a device, such as a terminal, that waits until a user allows its
    sign-in. Only the SHA-256 hashes of the device code and the user code are stored.

    `name`, `address`: the name that the device has sent about itself, and the IP address of its request.
    `scopes`, `expires_in_days`: the permissions and the lifetime of the API key that the device asks for.
    `user_id`: the user who has allowed or refused the sign-in; null before that. `interval_seconds`: how long
    the device must wait between two requests for its key. `asked_at`: the time of the last request for the
    key; null if there was none.
    """

    __tablename__ = "device_sign_ins"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    device_code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    address: Mapped[str | None] = mapped_column(String(64))
    scopes: Mapped[list[Any]]
    expires_in_days: Mapped[int]
    state: Mapped[DeviceState] = mapped_column(enum_column(DeviceState), default=DeviceState.PENDING)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime] = mapped_column(index=True)
    interval_seconds: Mapped[int]
    asked_at: Mapped[datetime | None]
