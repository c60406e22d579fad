"""Create approvals of MCP tools."""

import sqlalchemy as sa
from alembic import op

revision = "create_mcp_approvals"
down_revision = "create_consents"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mcp_approvals",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("repository", sa.String(length=500), nullable=False),
        sa.Column("server", sa.String(length=200), nullable=False),
        sa.Column("tools", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_mcp_approvals_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_mcp_approvals"),
        sa.UniqueConstraint(
            "user_id", "repository", "server", name="uq_mcp_approvals_user_id_repository_server"
        ),
    )


def downgrade() -> None:
    op.drop_table("mcp_approvals")
