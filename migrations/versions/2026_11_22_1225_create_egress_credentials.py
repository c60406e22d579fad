"""Create credentials that the way out adds, and a record of their uses."""

import sqlalchemy as sa
from alembic import op

revision = "create_egress_credentials"
down_revision = "add_sandbox_of_conversations"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "egress_credentials",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("scope", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(500), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("path_prefix", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("header", sa.String(100), nullable=False),
        sa.Column("username", sa.String(200), nullable=False),
        sa.Column("value_encrypted", sa.Text(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_egress_credentials_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_egress_credentials"),
        sa.UniqueConstraint(
            "owner",
            "scope",
            "subject",
            "host",
            "port",
            "path_prefix",
            name="uq_egress_credentials_owner_scope_subject_host_port_path_prefix",
        ),
    )
    op.create_index("ix_egress_credentials_user_id", "egress_credentials", ["user_id"])
    op.create_index("ix_egress_credentials_host", "egress_credentials", ["host"])
    op.create_table(
        "egress_credential_uses",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("credential_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("method", sa.String(20), nullable=False),
        sa.Column("path", sa.String(300), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_egress_credential_uses_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_egress_credential_uses"),
    )
    op.create_index("ix_egress_credential_uses_user_id", "egress_credential_uses", ["user_id"])
    op.create_index(
        "ix_egress_credential_uses_credential_id_at", "egress_credential_uses", ["credential_id", "at"]
    )


def downgrade() -> None:
    op.drop_table("egress_credential_uses")
    op.drop_table("egress_credentials")
