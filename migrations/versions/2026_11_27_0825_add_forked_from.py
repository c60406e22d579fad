"""Note which conversation another one is a copy of."""

import sqlalchemy as sa
from alembic import op

revision = "add_forked_from"
down_revision = "add_event_blobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("forked_from_conversation_id", sa.Uuid()))


def downgrade() -> None:
    op.drop_column("conversations", "forked_from_conversation_id")
