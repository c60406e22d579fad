"""Let users accept what agents want noted: a sandbox's word alone reaches no later conversation."""

import sqlalchemy as sa
from alembic import op

revision = "create_memory_proposals"
down_revision = "create_mcp_answers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory_proposals",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("repository", sa.String(500), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_memory_proposals"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_memory_proposals_user_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint(
            "user_id", "repository", "name", name="uq_memory_proposals_user_id_repository_name"
        ),
    )


def downgrade() -> None:
    op.drop_table("memory_proposals")
