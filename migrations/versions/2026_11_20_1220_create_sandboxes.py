"""Create sandboxes."""

import sqlalchemy as sa
from alembic import op

revision = "create_sandboxes"
down_revision = "create_llm_profiles"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sandboxes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("session_key_hash", sa.String(64), nullable=False),
        sa.Column("encrypted_session_key", sa.Text(), nullable=False),
        sa.Column("spec_id", sa.String(200), nullable=False),
        sa.Column("working_dir", sa.Text(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sandboxes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sandboxes"),
        sa.UniqueConstraint("session_key_hash", name="uq_sandboxes_session_key_hash"),
    )
    op.create_index("ix_sandboxes_user_id", "sandboxes", ["user_id"])
    op.create_index("ix_sandboxes_status", "sandboxes", ["status"])
    op.create_index("ix_sandboxes_created_at", "sandboxes", ["created_at"])


def downgrade() -> None:
    op.drop_table("sandboxes")
