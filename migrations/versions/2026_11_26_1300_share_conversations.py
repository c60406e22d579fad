"""Let people share a conversation with others, or with everyone who is signed in."""

import sqlalchemy as sa
from alembic import op

revision = "share_conversations"
down_revision = "add_found_plugins_of_sandboxes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("everyone_role", sa.String(40), nullable=True))
    op.create_index(
        "ix_conversations_everyone",
        "conversations",
        ["id"],
        sqlite_where=sa.text("everyone_role IS NOT NULL"),
        postgresql_where=sa.text("everyone_role IS NOT NULL"),
    )
    op.create_table(
        "conversation_shares",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.String(40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("conversation_id", "user_id"),
    )
    op.create_index("ix_conversation_shares_user_id", "conversation_shares", ["user_id"])


def downgrade() -> None:
    op.drop_index("ix_conversation_shares_user_id", "conversation_shares")
    op.drop_table("conversation_shares")
    op.drop_index("ix_conversations_everyone", "conversations")
    op.drop_column("conversations", "everyone_role")
