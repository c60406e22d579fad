"""LLM profiles: named model configurations of a user, at most one of them active."""

import sqlalchemy as sa
from alembic import op

revision = "create_llm_profiles"
down_revision = "create_users"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "llm_profiles",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("base_url", sa.String(2000), nullable=True),
        sa.Column("api_key_encrypted", sa.Text(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_llm_profiles"),
        sa.UniqueConstraint("user_id", "name", name="uq_llm_profiles_user_id_name"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_llm_profiles_user_id", ondelete="CASCADE"
        ),
    )
    op.create_index(
        "uq_llm_profiles_active",
        "llm_profiles",
        ["user_id"],
        unique=True,
        sqlite_where=sa.text("is_active"),
        postgresql_where=sa.text("is_active"),
    )


def downgrade() -> None:
    op.drop_table("llm_profiles")
