"""The database table of the marketplaces that an administrator has registered for all users. The marketplaces
that a user registers for their own conversations are stored in the user's settings instead.
"""

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base


class SharedMarketplace(Base):
    """The database row of a marketplace that an administrator has registered for all users of this
    installation.

    `source`: the repository, as a URL or `github:OWNER/REPO`. `ref`: a branch, tag or commit; None means the
    default branch. `repo_path`: the directory of the marketplace in the repository; None means the top
    directory. `auto_load`: whether new conversations get all plugins and skills of the marketplace.
    """

    __tablename__ = "shared_marketplaces"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    position: Mapped[int]
    """The position of this marketplace in the list of all shared marketplaces."""
    source: Mapped[str] = mapped_column(String(2000))
    ref: Mapped[str | None] = mapped_column(String(256))
    repo_path: Mapped[str | None] = mapped_column(String(1000))
    auto_load: Mapped[bool]
