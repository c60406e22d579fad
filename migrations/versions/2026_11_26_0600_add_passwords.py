"""Keep passwords, secrets of authenticator apps, recovery codes, and failed sign-ins."""

import sqlalchemy as sa
from alembic import op

revision = "add_passwords"
down_revision = "add_audit_log"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "password_logins",
        sa.Column("user_id", sa.Uuid(), primary_key=True),
        sa.Column("login_name", sa.String(200), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_password_logins_user_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("login_name", name="uq_password_logins_login_name"),
    )
    op.create_table(
        "totp_secrets",
        sa.Column("user_id", sa.Uuid(), primary_key=True),
        sa.Column("secret_encrypted", sa.String(500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_step", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_totp_secrets_user_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("code_hash", sa.String(64), primary_key=True),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_recovery_codes_user_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_recovery_codes_user_id", "recovery_codes", ["user_id"])
    op.create_table(
        "sign_in_throttles",
        sa.Column("key_hash", sa.String(64), primary_key=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("blocked_until", sa.DateTime(timezone=True), nullable=True),
    )
    op.create_index("ix_sign_in_throttles_last_at", "sign_in_throttles", ["last_at"])


def downgrade() -> None:
    for table in ("sign_in_throttles", "recovery_codes", "totp_secrets", "password_logins"):
        op.drop_table(table)
