"""The database table of the marketplaces that all users share. The marketplaces of one user are in the user's
settings.
"""

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base


class SharedMarketplace(Base):
    """A marketplace that an administrator has registered for all users of this installation."""

    __tablename__ = "shared_marketplaces"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    position: Mapped[int]
    """The position of the marketplace in the list."""
    source: Mapped[str] = mapped_column(String(2000))
    ref: Mapped[str | None] = mapped_column(String(256))
    repo_path: Mapped[str | None] = mapped_column(String(1000))
    auto_load: Mapped[bool]
