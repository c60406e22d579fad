"""Note which people are being deleted."""

import sqlalchemy as sa
from alembic import op

revision = "add_deleting_at"
down_revision = "add_triggers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("deleting_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("users", "deleting_at")
