"""Create the decisions about what repositories may run."""

import sqlalchemy as sa
from alembic import op

revision = "create_consents"
down_revision = "add_conversation_goal"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "consents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("repository", sa.String(500), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("decision", sa.String(40), nullable=False),
        sa.Column("offer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_consents_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_consents"),
        sa.UniqueConstraint("user_id", "repository", "hash", name="uq_consents_user_id_repository_hash"),
    )


def downgrade() -> None:
    op.drop_table("consents")
