"""Create grants of MCP servers."""

import sqlalchemy as sa
from alembic import op

revision = "create_mcp_grants"
down_revision = "create_mcp_servers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mcp_grants",
        sa.Column("server_id", sa.Uuid(), nullable=False),
        sa.Column("grant_encrypted", sa.Text(), nullable=False),
        sa.Column("is_refused", sa.Boolean(), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["server_id"], ["mcp_servers.id"], name="fk_mcp_grants_server_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("server_id", name="pk_mcp_grants"),
    )


def downgrade() -> None:
    op.drop_table("mcp_grants")
