"""Add what commits of agents say about them."""

import sqlalchemy as sa
from alembic import op

revision = "add_commit_trailers"
down_revision = "add_teams"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("user_settings", sa.Column("commit_trailer", sa.String(20), nullable=True))
    op.add_column("user_settings", sa.Column("commit_trailers", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("user_settings", "commit_trailers")
    op.drop_column("user_settings", "commit_trailer")
