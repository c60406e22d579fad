"""Keep the keys that sign commits."""

import sqlalchemy as sa
from alembic import op

revision = "add_commit_signing"
down_revision = "add_instructions_of_callbacks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "commit_signing_keys",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("private_key_encrypted", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_commit_signing_keys_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name="pk_commit_signing_keys"),
    )


def downgrade() -> None:
    op.drop_table("commit_signing_keys")
