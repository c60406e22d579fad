"""Add the further repositories of conversations."""

import sqlalchemy as sa
from alembic import op

revision = "add_more_repositories"
down_revision = "add_retention_rules"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "conversations", sa.Column("more_repositories", sa.JSON(), nullable=False, server_default="[]")
    )


def downgrade() -> None:
    op.drop_column("conversations", "more_repositories")
