"""Database tables of the keys that sign the commits of users' agents, and of the counts of signatures per
sandbox.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class CommitSigningKey(Base):
    """The database row of a user's key for signing commits and tags. The key is created when the user turns
    signing on for the first time.

    `is_on`: whether signing is turned on now. `public_key`: the public key in the format of an OpenSSH `.pub`
    file; the user copies it to the git host. `private_key_encrypted`: the encrypted private key in PEM
    format. The private key is never shown and never leaves the app server.
    """

    __tablename__ = "commit_signing_keys"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    is_on: Mapped[bool]
    public_key: Mapped[str] = mapped_column(Text)
    private_key_encrypted: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)


class CommitSignatureCount(Base):
    """The database row that counts the signatures for one sandbox, because their number per hour is limited.
    `began_at`: the begin of the current hour. `signatures`: the number of signatures since then.
    """

    __tablename__ = "commit_signature_counts"

    sandbox_id: Mapped[UUID] = mapped_column(ForeignKey("sandboxes.id", ondelete="CASCADE"), primary_key=True)
    began_at: Mapped[datetime]
    signatures: Mapped[int]
