"""Add how the goal of a conversation stands."""

import sqlalchemy as sa
from alembic import op

revision = "add_conversation_goal"
down_revision = "create_secrets"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("goal", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("conversations", "goal")
