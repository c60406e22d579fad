"""Limit how many conversations of a trigger work at once."""

import sqlalchemy as sa
from alembic import op

revision = "limit_triggers"
down_revision = "add_commit_trailers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("triggers", sa.Column("max_running", sa.Integer(), nullable=False, server_default="5"))


def downgrade() -> None:
    op.drop_column("triggers", "max_running")
