"""Count the signatures of each sandbox, so that all app servers share their limit."""

import sqlalchemy as sa
from alembic import op

revision = "add_commit_signature_counts"
down_revision = "choose_given_specs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "commit_signature_counts",
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("signatures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sandbox_id"], ["sandboxes.id"], name="fk_commit_signature_counts_sandbox_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sandbox_id", name="pk_commit_signature_counts"),
    )


def downgrade() -> None:
    op.drop_table("commit_signature_counts")
