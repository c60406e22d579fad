"""Note which users are service accounts."""

import sqlalchemy as sa
from alembic import op

revision = "add_service_accounts"
down_revision = "add_deleting_at"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("is_service", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("users", "is_service")
