"""Keep incoming webhooks and the deliveries that were accepted."""

import sqlalchemy as sa
from alembic import op

revision = "add_incoming_hooks"
down_revision = "add_callbacks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "incoming_hooks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.String(40), nullable=False),
        sa.Column("origin", sa.String(300), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("secret_encrypted", sa.Text(), nullable=False),
        sa.Column("previous_secret_encrypted", sa.Text(), nullable=True),
        sa.Column("previous_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_delivery_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_incoming_hooks_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_incoming_hooks"),
    )
    op.create_index("ix_incoming_hooks_user_id_created_at", "incoming_hooks", ["user_id", "created_at"])
    op.create_table(
        "incoming_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("hook_id", sa.Uuid(), nullable=False),
        sa.Column("delivery_id", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["hook_id"], ["incoming_hooks.id"], name="fk_incoming_deliveries_hook_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_incoming_deliveries"),
        sa.UniqueConstraint("hook_id", "delivery_id", name="uq_incoming_deliveries_hook_id_delivery_id"),
    )
    op.create_index("ix_incoming_deliveries_created_at", "incoming_deliveries", ["created_at"])


def downgrade() -> None:
    op.drop_table("incoming_deliveries")
    op.drop_table("incoming_hooks")
