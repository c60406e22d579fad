"""Let users state what kind of git host a token is for, and where its API is."""

import sqlalchemy as sa
from alembic import op

revision = "state_kinds_of_git_hosts"
down_revision = "share_conversations"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("git_credentials", sa.Column("provider", sa.String(40), nullable=True))
    op.add_column("git_credentials", sa.Column("api_url", sa.String(500), nullable=True))


def downgrade() -> None:
    op.drop_column("git_credentials", "api_url")
    op.drop_column("git_credentials", "provider")
