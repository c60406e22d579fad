"""Create archives of workspaces, and name the one that a sandbox's workspace is in."""

import sqlalchemy as sa
from alembic import op

revision = "create_archives"
down_revision = "create_spending"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "archives",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["sandbox_id"], ["sandboxes.id"], name="fk_archives_sandbox_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_archives_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_archives"),
    )
    op.create_index("ix_archives_sandbox_id", "archives", ["sandbox_id"])
    op.create_index("ix_archives_user_id", "archives", ["user_id"])
    op.add_column("sandboxes", sa.Column("archive_id", sa.Uuid(), nullable=True))
    op.add_column(
        "sandboxes", sa.Column("has_leftovers", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    op.drop_column("sandboxes", "has_leftovers")
    op.drop_column("sandboxes", "archive_id")
    op.drop_table("archives")
