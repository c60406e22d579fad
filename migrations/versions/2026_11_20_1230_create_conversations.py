"""Create conversations, the starts that bring them up, and messages that wait."""

import sqlalchemy as sa
from alembic import op

revision = "create_conversations"
down_revision = "create_sandboxes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("selected_repository", sa.Text(), nullable=True),
        sa.Column("selected_branch", sa.String(255), nullable=True),
        sa.Column("git_provider", sa.String(50), nullable=True),
        sa.Column("title", sa.String(200), nullable=True),
        sa.Column("trigger", sa.String(50), nullable=True),
        sa.Column("llm_profile", sa.String(64), nullable=False),
        sa.Column("llm_model", sa.String(200), nullable=True),
        sa.Column("base_commit", sa.String(64), nullable=True),
        sa.Column("execution_status", sa.String(50), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_conversations_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_conversations"),
    )
    op.create_index(
        "ix_conversations_user_id_created_at_id", "conversations", ["user_id", "created_at", "id"]
    )
    op.create_index("ix_conversations_deleted_at", "conversations", ["deleted_at"])
    op.create_table(
        "start_tasks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.String(40), nullable=False),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("encrypted_repository_url", sa.Text(), nullable=True),
        sa.Column("agent_server_url", sa.Text(), nullable=True),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("lease_owner", sa.String(32), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_start_tasks_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_start_tasks"),
    )
    op.create_index("ix_start_tasks_status_lease_until", "start_tasks", ["status", "lease_until"])
    op.create_index("ix_start_tasks_user_id_created_at_id", "start_tasks", ["user_id", "created_at", "id"])
    op.create_table(
        "pending_messages",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.String(128), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("message", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name="fk_pending_messages_conversation_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "id", name="pk_pending_messages"),
    )
    op.create_index(
        "ix_pending_messages_conversation_id_position", "pending_messages", ["conversation_id", "position"]
    )


def downgrade() -> None:
    op.drop_table("pending_messages")
    op.drop_table("start_tasks")
    op.drop_table("conversations")
