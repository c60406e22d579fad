"""Limit API keys by scopes and time, and let users be disabled."""

import sqlalchemy as sa
from alembic import op

revision = "add_key_scopes"
down_revision = "add_server_leases"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("scopes", sa.JSON(), nullable=True))
    op.add_column("api_keys", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("users", "disabled_at")
    op.drop_column("api_keys", "expires_at")
    op.drop_column("api_keys", "scopes")
