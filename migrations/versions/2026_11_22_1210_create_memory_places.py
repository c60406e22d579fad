"""Create the places of starts in the memory of sandboxes."""

import sqlalchemy as sa
from alembic import op

revision = "create_memory_places"
down_revision = "create_archives"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory_places",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_memory_places"),
    )


def downgrade() -> None:
    op.drop_table("memory_places")
