"""Count how much the log of a conversation holds."""

import sqlalchemy as sa
from alembic import op

revision = "add_size_of_logs"
down_revision = "add_server_of_sandboxes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("log_size", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("conversations", "log_size")
