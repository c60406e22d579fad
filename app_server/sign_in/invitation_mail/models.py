"""The database table of invitations that are sent by e-mail."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class InvitationMail(Base):
    """One row of the table of invitations: an invitation for a person, to be sent by e-mail. The row has no
    link: each attempt to send the e-mail creates a new link.

    `user_id`: the invited person. `inviter_id`: the user who invites; null if that account has been deleted.
    `link_expires_at`: when the link in the sent e-mail expires. `error`: why the last attempt failed.
    `failed_at`: when the server stopped trying to send the e-mail; null if it has not stopped.
    """

    __tablename__ = "invitation_mails"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), unique=True)
    inviter_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    address: Mapped[str] = mapped_column(String(250))
    created_at: Mapped[datetime] = mapped_column(default=now)
    sent_at: Mapped[datetime | None]
    link_expires_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)
