"""Create credentials of git hosts."""

import sqlalchemy as sa
from alembic import op

revision = "create_git_credentials"
down_revision = "create_mcp_grants"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "git_credentials",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("origin", sa.String(length=300), nullable=False),
        sa.Column("username", sa.String(length=200), nullable=True),
        sa.Column("token_encrypted", sa.Text(), nullable=False),
        sa.Column("push_scope", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_git_credentials_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_git_credentials"),
        sa.UniqueConstraint("user_id", "origin", name="uq_git_credentials_user_id_origin"),
    )


def downgrade() -> None:
    op.drop_table("git_credentials")
