"""Keep as whom a user's agents commit, how many steps a run has, which conversations belong together,
and the secrets that a start brings along.
"""

import sqlalchemy as sa
from alembic import op

revision = "add_protocol_settings"
down_revision = "add_profile_options"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("user_settings", sa.Column("git_user_name", sa.String(200), nullable=True))
    op.add_column("user_settings", sa.Column("git_user_email", sa.String(200), nullable=True))
    op.add_column("user_settings", sa.Column("max_iterations", sa.Integer(), nullable=True))
    op.add_column("conversations", sa.Column("parent_conversation_id", sa.Uuid(), nullable=True))
    op.add_column(
        "conversations", sa.Column("sub_conversation_ids", sa.JSON(), nullable=False, server_default="[]")
    )
    op.add_column("conversations", sa.Column("pr_number", sa.JSON(), nullable=False, server_default="[]"))
    op.create_index("ix_conversations_parent_conversation_id", "conversations", ["parent_conversation_id"])
    op.add_column("start_tasks", sa.Column("encrypted_secrets", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("start_tasks", "encrypted_secrets")
    op.drop_index("ix_conversations_parent_conversation_id", "conversations")
    op.drop_column("conversations", "pr_number")
    op.drop_column("conversations", "sub_conversation_ids")
    op.drop_column("conversations", "parent_conversation_id")
    op.drop_column("user_settings", "max_iterations")
    op.drop_column("user_settings", "git_user_email")
    op.drop_column("user_settings", "git_user_name")
