"""Create the record of pushes."""

import sqlalchemy as sa
from alembic import op

revision = "create_git_pushes"
down_revision = "add_session_key_rotation"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "git_pushes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("old_commit", sa.String(length=64), nullable=False),
        sa.Column("new_commit", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_git_pushes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_git_pushes"),
    )
    op.create_index("ix_git_pushes_user_id", "git_pushes", ["user_id"])
    op.create_index(
        "ix_git_pushes_sandbox_id_repository_ref", "git_pushes", ["sandbox_id", "repository", "ref"]
    )


def downgrade() -> None:
    op.drop_table("git_pushes")
