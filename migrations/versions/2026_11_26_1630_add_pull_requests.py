"""Keep the pull requests of conversations, as their git hosts describe them."""

import sqlalchemy as sa
from alembic import op

revision = "add_pull_requests"
down_revision = "state_kinds_of_git_hosts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conversation_pull_requests",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.String(40), nullable=False),
        sa.Column("origin", sa.String(300), nullable=False),
        sa.Column("repository", sa.String(500), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("state", sa.String(40), nullable=False),
        sa.Column("is_draft", sa.Boolean(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("head_commit", sa.String(64), nullable=True),
        sa.Column("mergeability", sa.String(40), nullable=False),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.Column("reviews", sa.JSON(), nullable=False),
        sa.Column("unresolved_threads", sa.Integer(), nullable=False),
        sa.Column("asked_threads", sa.JSON(), nullable=False),
        sa.Column("asked_at_commit", sa.String(64), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refreshed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("conversation_id", "origin", "repository", "number"),
    )
    op.create_index(
        "ix_conversation_pull_requests_user_id_origin_repository_state",
        "conversation_pull_requests",
        ["user_id", "origin", "repository", "state"],
    )


def downgrade() -> None:
    op.drop_index(
        "ix_conversation_pull_requests_user_id_origin_repository_state", "conversation_pull_requests"
    )
    op.drop_table("conversation_pull_requests")
