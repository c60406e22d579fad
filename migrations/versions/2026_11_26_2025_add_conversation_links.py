"""Let people make read-only links to conversations."""

import sqlalchemy as sa
from alembic import op

revision = "add_conversation_links"
down_revision = "add_tags"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conversation_links",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("scanned_through", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash", name="uq_conversation_links_token_hash"),
    )
    op.create_index("ix_conversation_links_conversation_id", "conversation_links", ["conversation_id"])


def downgrade() -> None:
    op.drop_table("conversation_links")
