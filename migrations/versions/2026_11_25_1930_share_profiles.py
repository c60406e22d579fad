"""Let administrators share a model profile with everyone, and let people choose it."""

import sqlalchemy as sa
from alembic import op

revision = "share_profiles"
down_revision = "add_key_scopes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "llm_profiles", sa.Column("is_shared", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_index(
        "uq_llm_profiles_shared",
        "llm_profiles",
        ["name"],
        unique=True,
        sqlite_where=sa.text("is_shared"),
        postgresql_where=sa.text("is_shared"),
    )
    with op.batch_alter_table("user_settings") as table:
        table.add_column(sa.Column("shared_profile_id", sa.Uuid(), nullable=True))
        table.create_foreign_key(
            "fk_user_settings_shared_profile_id_llm_profiles",
            "llm_profiles",
            ["shared_profile_id"],
            ["id"],
            ondelete="SET NULL",
        )


def downgrade() -> None:
    with op.batch_alter_table("user_settings") as table:
        table.drop_constraint("fk_user_settings_shared_profile_id_llm_profiles", type_="foreignkey")
        table.drop_column("shared_profile_id")
    op.drop_index("uq_llm_profiles_shared", "llm_profiles")
    op.drop_column("llm_profiles", "is_shared")
