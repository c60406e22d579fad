"""Create MCP servers."""

import sqlalchemy as sa
from alembic import op

revision = "create_mcp_servers"
down_revision = "create_mcp_approvals"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mcp_servers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("definition_encrypted", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_mcp_servers_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_mcp_servers"),
        sa.UniqueConstraint("user_id", "name", name="uq_mcp_servers_user_id_name"),
    )


def downgrade() -> None:
    op.drop_table("mcp_servers")
