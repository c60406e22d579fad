"""Add the audit log: its entries, and the head of their chain."""

import sqlalchemy as sa
from alembic import op

revision = "add_audit_log"
down_revision = "limit_api_keys_to_addresses"
branch_labels = None
depends_on = None

NO_HASH = "0" * 64


def upgrade() -> None:
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("happened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("actor_name", sa.String(200), nullable=True),
        sa.Column("means", sa.String(40), nullable=False),
        sa.Column("credential_id", sa.Uuid(), nullable=True),
        sa.Column("address", sa.String(64), nullable=True),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("target_kind", sa.String(40), nullable=True),
        sa.Column("target_id", sa.String(300), nullable=True),
        sa.Column("outcome", sa.String(40), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("ix_audit_entries_happened_at", "audit_entries", ["happened_at"])
    for column in ("actor_id", "action", "target_id"):
        op.create_index(f"ix_audit_entries_{column}", "audit_entries", [column, "id"])
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("anchor_id", sa.BigInteger(), nullable=False),
        sa.Column("anchor_hash", sa.String(64), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("last_hash", sa.String(64), nullable=False),
        sa.CheckConstraint("id = 1", name="ck_audit_head_single"),
    )
    op.bulk_insert(
        head, [{"id": 1, "anchor_id": 0, "anchor_hash": NO_HASH, "last_id": 0, "last_hash": NO_HASH}]
    )


def downgrade() -> None:
    op.drop_table("audit_head")
    op.drop_table("audit_entries")
