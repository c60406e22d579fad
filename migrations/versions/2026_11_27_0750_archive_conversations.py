"""Add when a conversation was archived, that is put aside by its user."""

import sqlalchemy as sa
from alembic import op

revision = "archive_conversations"
down_revision = "add_device_sign_ins"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("conversations", "archived_at")
