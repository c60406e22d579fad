"""Add what administrators allow users to spend on models: everybody, and each of them."""

import sqlalchemy as sa
from alembic import op

revision = "add_administered_limits"
down_revision = "create_sandbox_specs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    defaults = op.create_table(
        "spending_defaults",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("period", sa.String(length=40), nullable=False),
        sa.Column("allowed", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_spending_defaults"),
    )
    op.bulk_insert(defaults, [{"id": 1, "period": "month", "allowed": None}])
    op.add_column("spending_accounts", sa.Column("follows_default", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM spending_accounts WHERE follows_default IS NOT NULL")
    op.drop_column("spending_accounts", "follows_default")
    op.drop_table("spending_defaults")
