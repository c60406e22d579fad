"""Keep callbacks and their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "add_callbacks"
down_revision = "add_model_keys"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "callbacks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("is_for_everyone", sa.Boolean(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("processor", sa.String(40), nullable=False),
        sa.Column("url_encrypted", sa.Text(), nullable=True),
        sa.Column("secret_encrypted", sa.Text(), nullable=True),
        sa.Column("previous_secret_encrypted", sa.Text(), nullable=True),
        sa.Column("previous_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("kinds", sa.JSON(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("tools", sa.JSON(), nullable=False),
        sa.Column("statuses", sa.JSON(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_callbacks_user_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name="fk_callbacks_conversation_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_callbacks"),
    )
    op.create_index("ix_callbacks_user_id_created_at", "callbacks", ["user_id", "created_at"])
    op.create_index("ix_callbacks_is_for_everyone", "callbacks", ["is_for_everyone"])
    op.create_index("ix_callbacks_conversation_id", "callbacks", ["conversation_id"])
    op.create_table(
        "callback_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("callback_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("event_kind", sa.String(100), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["callback_id"],
            ["callbacks.id"],
            name="fk_callback_deliveries_callback_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name="fk_callback_deliveries_conversation_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_callback_deliveries"),
        sa.UniqueConstraint(
            "callback_id",
            "conversation_id",
            "seq",
            name="uq_callback_deliveries_callback_id_conversation_id_seq",
        ),
    )
    op.create_index(
        "ix_callback_deliveries_callback_id_created_at", "callback_deliveries", ["callback_id", "created_at"]
    )
    op.create_index("ix_callback_deliveries_created_at", "callback_deliveries", ["created_at"])
    op.create_index("ix_callback_deliveries_conversation_id", "callback_deliveries", ["conversation_id"])


def downgrade() -> None:
    op.drop_table("callback_deliveries")
    op.drop_table("callbacks")
