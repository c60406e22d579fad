"""Add marketplaces: those of everyone, and those of each user."""

import sqlalchemy as sa
from alembic import op

revision = "add_marketplaces"
down_revision = "add_provisioned_people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shared_marketplaces",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(2000), nullable=False),
        sa.Column("ref", sa.String(256)),
        sa.Column("repo_path", sa.String(1000)),
        sa.Column("auto_load", sa.Boolean(), nullable=False),
    )
    op.add_column(
        "user_settings",
        sa.Column("registered_marketplaces", sa.JSON(), nullable=False, server_default="[]"),
    )


def downgrade() -> None:
    op.drop_column("user_settings", "registered_marketplaces")
    op.drop_table("shared_marketplaces")
