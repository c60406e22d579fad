"""Note whether a user has named a conversation: generated titles leave such a name alone."""

import sqlalchemy as sa
from alembic import op

revision = "add_title_given"
down_revision = "add_position_of_backups"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "conversations", sa.Column("title_given", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    op.drop_column("conversations", "title_given")
