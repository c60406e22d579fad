"""Create the log of each conversation."""

import sqlalchemy as sa
from alembic import op

revision = "create_events"
down_revision = "create_conversations"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.String(128), nullable=False),
        sa.Column("kind", sa.String(100), nullable=False),
        sa.Column("source", sa.String(50), nullable=False),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "seq", name="pk_events"),
        sa.UniqueConstraint("conversation_id", "event_id", name="uq_events_conversation_id_event_id"),
    )
    op.create_index("ix_events_conversation_id_kind_seq", "events", ["conversation_id", "kind", "seq"])


def downgrade() -> None:
    op.drop_table("events")
