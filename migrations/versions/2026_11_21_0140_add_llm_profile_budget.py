"""Add what a conversation with a model may cost."""

import sqlalchemy as sa
from alembic import op

revision = "add_llm_profile_budget"
down_revision = "create_memory_notes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("llm_profiles", sa.Column("max_budget_per_task", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("llm_profiles", "max_budget_per_task")
