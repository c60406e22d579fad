"""Limit API keys to addresses."""

import sqlalchemy as sa
from alembic import op

revision = "limit_api_keys_to_addresses"
down_revision = "add_external_identities"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("addresses", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("api_keys", "addresses")
