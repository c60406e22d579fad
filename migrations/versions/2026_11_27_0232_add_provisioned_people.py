"""Adds people and teams that an identity provider manages."""

import sqlalchemy as sa
from alembic import op

revision = "add_provisioned_people"
down_revision = "count_usage_of_programs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "provisioned_people",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("user_name", sa.String(320), nullable=False),
        sa.Column("user_name_key", sa.String(640), nullable=False),
        sa.Column("external_id", sa.String(255), nullable=True),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id"),
        sa.UniqueConstraint("user_name_key"),
    )
    op.create_table(
        "provisioned_teams",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(255), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("team_id"),
    )


def downgrade() -> None:
    op.drop_table("provisioned_teams")
    op.drop_table("provisioned_people")
