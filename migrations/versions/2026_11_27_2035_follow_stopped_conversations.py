"""Add whether a conversation has stopped working since its issue was closed."""

import sqlalchemy as sa
from alembic import op

revision = "follow_stopped_conversations"
down_revision = "index_events_by_time"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "triggered_conversations",
        sa.Column("is_at_rest", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    # A stop of an earlier version does not pause the conversation again.
    rows = sa.table("triggered_conversations", sa.column("is_stopped"), sa.column("is_at_rest"))
    op.execute(rows.update().where(rows.c.is_stopped).values(is_at_rest=True))


def downgrade() -> None:
    op.drop_column("triggered_conversations", "is_at_rest")
