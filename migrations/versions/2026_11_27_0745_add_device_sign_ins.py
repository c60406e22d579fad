"""Adds sign-ins of devices, such as a terminal."""

import sqlalchemy as sa
from alembic import op

revision = "add_device_sign_ins"
down_revision = "narrow_indexes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "device_sign_ins",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("device_code_hash", sa.String(64), nullable=False),
        sa.Column("user_code_hash", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("address", sa.String(64), nullable=True),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("expires_in_days", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(40), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_seconds", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("device_code_hash"),
        sa.UniqueConstraint("user_code_hash"),
    )
    op.create_index("ix_device_sign_ins_user_id", "device_sign_ins", ["user_id"])
    op.create_index("ix_device_sign_ins_expires_at", "device_sign_ins", ["expires_at"])


def downgrade() -> None:
    op.drop_table("device_sign_ins")
