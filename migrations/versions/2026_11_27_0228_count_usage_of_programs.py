"""Count what programs in a sandbox use of their conversation's model."""

import sqlalchemy as sa
from alembic import op

revision = "count_usage_of_programs"
down_revision = "limit_triggers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("spending_accounts", sa.Column("program_usage", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("spending_accounts", "program_usage")
