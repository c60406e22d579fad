"""Adds the receiver of the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "add_audit_streams"
down_revision = "add_more_repositories"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_streams",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("address", sa.String(2000), nullable=False),
        sa.Column("secret_encrypted", sa.Text(), nullable=True),
        sa.Column("sent_up_to", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(500), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_streams_single")),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    op.drop_table("audit_streams")
