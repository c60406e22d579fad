"""Add the rule by which conversations without activity are archived or deleted."""

import sqlalchemy as sa
from alembic import op

revision = "add_retention_rules"
down_revision = "archive_conversations"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "retention_rules",
        sa.Column("id", sa.Integer(), autoincrement=False, primary_key=True),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("kept_tags", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("retention_rules")
