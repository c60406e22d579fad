"""Note on which app server's disk a process sandbox lies, where several share a database."""

import sqlalchemy as sa
from alembic import op

revision = "add_server_of_sandboxes"
down_revision = "create_memory_proposals"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("server_id", sa.String(length=64), nullable=True))


def downgrade() -> None:
    op.drop_column("sandboxes", "server_id")
