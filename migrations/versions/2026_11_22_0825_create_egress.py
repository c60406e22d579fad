"""Create egress settings and records."""

import sqlalchemy as sa
from alembic import op

revision = "create_egress"
down_revision = "create_git_credentials"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "egress_settings",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("scope", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(500), nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=True),
        sa.Column("mode", sa.String(40), nullable=True),
        sa.Column("hosts", sa.JSON(), nullable=False),
        sa.Column("ignored", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_egress_settings_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sandbox_id"], ["sandboxes.id"], name="fk_egress_settings_sandbox_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_egress_settings"),
        sa.UniqueConstraint("user_id", "scope", "subject", name="uq_egress_settings_user_id_scope_subject"),
    )
    op.create_index("ix_egress_settings_sandbox_id", "egress_settings", ["sandbox_id"])
    op.create_table(
        "egress_records",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.Column("client", sa.String(60), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("bytes_sent", sa.BigInteger(), nullable=False),
        sa.Column("bytes_received", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["sandbox_id"], ["sandboxes.id"], name="fk_egress_records_sandbox_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_egress_records_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_egress_records"),
        sa.UniqueConstraint(
            "sandbox_id",
            "hour",
            "host",
            "port",
            "reason",
            name="uq_egress_records_sandbox_id_hour_host_port_reason",
        ),
    )
    op.create_index("ix_egress_records_user_id_last_at", "egress_records", ["user_id", "last_at"])


def downgrade() -> None:
    op.drop_table("egress_records")
    op.drop_table("egress_settings")
