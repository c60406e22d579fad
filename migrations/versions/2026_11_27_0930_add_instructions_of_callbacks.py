"""Add what a callback that starts a task tells the agent."""

import sqlalchemy as sa
from alembic import op

revision = "add_instructions_of_callbacks"
down_revision = "add_used_assertions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("callbacks", sa.Column("instructions", sa.Text()))


def downgrade() -> None:
    op.drop_column("callbacks", "instructions")
