"""Keep large parts of events in a table beside the log."""

import sqlalchemy as sa
from alembic import op

revision = "add_event_blobs"
down_revision = "add_folded_state"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("events", sa.Column("blobs", sa.JSON()))
    op.create_table(
        "event_blobs",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("media_type", sa.String(100), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "sha256"),
    )


def downgrade() -> None:
    # Events with references would lose their large parts.
    op.drop_table("event_blobs")
    op.drop_column("events", "blobs")
