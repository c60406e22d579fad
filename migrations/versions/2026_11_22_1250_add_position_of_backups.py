"""Note of a backup up to where the log had come."""

import sqlalchemy as sa
from alembic import op

revision = "add_position_of_backups"
down_revision = "add_sandbox_grouping"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("archives", sa.Column("position", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("archives", "position")
