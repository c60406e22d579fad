"""Count the questions that wait for the user, for lists of conversations."""

import sqlalchemy as sa
from alembic import op

revision = "count_open_questions"
down_revision = "add_service_accounts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "conversations", sa.Column("open_questions", sa.Integer(), nullable=False, server_default="0")
    )


def downgrade() -> None:
    op.drop_column("conversations", "open_questions")
