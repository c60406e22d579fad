"""Let conversations share sandboxes: the user's strategy, and each conversation's own folder."""

import sqlalchemy as sa
from alembic import op

revision = "add_sandbox_grouping"
down_revision = "add_administered_limits"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "user_settings", sa.Column("sandbox_grouping_strategy", sa.String(length=40), nullable=True)
    )
    op.add_column("conversations", sa.Column("folder", sa.String(length=32), nullable=True))


def downgrade() -> None:
    op.drop_column("conversations", "folder")
    op.drop_column("user_settings", "sandbox_grouping_strategy")
