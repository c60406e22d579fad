"""Keep triggers: webhooks of git hosts, their deliveries, and the conversations that they have started."""

import sqlalchemy as sa
from alembic import op

revision = "add_triggers"
down_revision = "add_git_sign_in"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "triggers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.String(40), nullable=False),
        sa.Column("origin", sa.String(300), nullable=False),
        sa.Column("repository", sa.String(500), nullable=False),
        sa.Column("clone_url", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("mention", sa.String(100), nullable=False),
        sa.Column("branch", sa.String(255), nullable=True),
        sa.Column("paths", sa.JSON(), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("llm_profile", sa.String(64), nullable=True),
        sa.Column("sandbox_spec_id", sa.String(100), nullable=True),
        sa.Column("opens_pull_request", sa.Boolean(), nullable=False),
        sa.Column("secret_encrypted", sa.Text(), nullable=False),
        sa.Column("previous_secret_encrypted", sa.Text(), nullable=True),
        sa.Column("previous_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_delivery_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_triggers_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_triggers"),
    )
    op.create_index("ix_triggers_user_id_created_at", "triggers", ["user_id", "created_at"])
    op.create_table(
        "trigger_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("trigger_id", sa.Uuid(), nullable=False),
        sa.Column("delivery_id", sa.String(200), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(40), nullable=False),
        sa.Column("action", sa.String(40), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("commit", sa.String(64), nullable=True),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("handled_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["triggers.id"], name="fk_trigger_deliveries_trigger_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name="fk_trigger_deliveries_conversation_id",
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_trigger_deliveries"),
        sa.UniqueConstraint("trigger_id", "delivery_id", name="uq_trigger_deliveries_trigger_id_delivery_id"),
    )
    op.create_index(
        "ix_trigger_deliveries_trigger_id_created_at", "trigger_deliveries", ["trigger_id", "created_at"]
    )
    op.create_index("ix_trigger_deliveries_created_at", "trigger_deliveries", ["created_at"])
    op.create_index("ix_trigger_deliveries_conversation_id", "trigger_deliveries", ["conversation_id"])
    op.create_table(
        "triggered_conversations",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("trigger_id", sa.Uuid(), nullable=False),
        sa.Column("is_pull_request", sa.Boolean(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("comment_id", sa.String(200), nullable=True),
        sa.Column("comment_begun", sa.Boolean(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("is_stopped", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name="fk_triggered_conversations_conversation_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["triggers.id"], name="fk_triggered_conversations_trigger_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("conversation_id", name="pk_triggered_conversations"),
    )
    op.create_index(
        "ix_triggered_conversations_trigger_id_number", "triggered_conversations", ["trigger_id", "number"]
    )


def downgrade() -> None:
    op.drop_table("triggered_conversations")
    op.drop_table("trigger_deliveries")
    op.drop_table("triggers")
