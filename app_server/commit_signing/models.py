"""Database tables of the keys with which the app server signs the commits of a user's agents, and of the
numbers of signatures.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class CommitSigningKey(Base):
    """A user's key for signing commits. It is created when the user turns signing on for the first time.

    public_key: the text to paste at the git host, as in a `.pub` file of OpenSSH. private_key_encrypted: PEM,
    encrypted. The private key is never shown and never leaves this server.
    """

    __tablename__ = "commit_signing_keys"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    is_on: Mapped[bool]
    public_key: Mapped[str] = mapped_column(Text)
    private_key_encrypted: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)


class CommitSignatureCount(Base):
    """The number of signatures for a sandbox within the hour that began at `began_at`."""

    __tablename__ = "commit_signature_counts"

    sandbox_id: Mapped[UUID] = mapped_column(ForeignKey("sandboxes.id", ondelete="CASCADE"), primary_key=True)
    began_at: Mapped[datetime]
    signatures: Mapped[int]
