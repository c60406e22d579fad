"""Create accounts of what is spent on models, and the prices of profiles."""

import sqlalchemy as sa
from alembic import op

revision = "create_spending"
down_revision = "create_git_pushes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "spending_accounts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("period", sa.String(length=40), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("allowed", sa.BigInteger(), nullable=True),
        sa.Column("share", sa.BigInteger(), nullable=True),
        sa.Column("raised", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_spending_accounts_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_spending_accounts"),
    )
    op.create_index("ix_spending_accounts_user_id", "spending_accounts", ["user_id"])
    op.create_table(
        "spending_reservations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("call_id", sa.Uuid(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["spending_accounts.id"],
            name="fk_spending_reservations_account_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_spending_reservations"),
    )
    op.create_index("ix_spending_reservations_account_id", "spending_reservations", ["account_id"])
    op.create_index("ix_spending_reservations_call_id", "spending_reservations", ["call_id"])
    for name in ("input_cost_per_token", "output_cost_per_token"):
        op.add_column("llm_profiles", sa.Column(name, sa.Double(), nullable=True))


def downgrade() -> None:
    for name in ("input_cost_per_token", "output_cost_per_token"):
        op.drop_column("llm_profiles", name)
    op.drop_table("spending_reservations")
    op.drop_table("spending_accounts")
