"""The table of teams that an identity provider manages through SCIM."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class ProvisionedTeam(Base):
    """What an identity provider says about a team, beside its name and its members."""

    __tablename__ = "provisioned_teams"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    external_id: Mapped[str | None] = mapped_column(String(255))
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
