"""Keep the answers of users to changed tools of MCP servers: a sandbox's word alone approves nothing."""

import sqlalchemy as sa
from alembic import op

revision = "create_mcp_answers"
down_revision = "add_page_proof"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mcp_answers",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("server", sa.String(200), nullable=False),
        sa.Column("fingerprint", sa.String(200), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "server", "fingerprint", name="pk_mcp_answers"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_mcp_answers_user_id", ondelete="CASCADE"),
    )
    op.create_index("ix_mcp_answers_user_id", "mcp_answers", ["user_id"])


def downgrade() -> None:
    op.drop_table("mcp_answers")
