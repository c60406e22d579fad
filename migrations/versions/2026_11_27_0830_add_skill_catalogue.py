"""Add the catalogue of skills: installed skills, choices which are loaded, read repositories."""

import sqlalchemy as sa
from alembic import op

revision = "add_skill_catalogue"
down_revision = "add_forked_from"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "installed_skills",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id", ondelete="CASCADE")),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("marketplace", sa.String(64)),
        sa.Column("source", sa.String(2000)),
        sa.Column("ref", sa.String(256)),
        sa.Column("repo_path", sa.String(1000)),
        sa.Column("path", sa.String(1000), nullable=False),
        sa.Column("commit_id", sa.String(64)),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("other_files", sa.Integer(), nullable=False),
        sa.Column("installed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )
    for name, columns, where in (
        ("uq_installed_skills_own", ["user_id", "name"], "user_id IS NOT NULL"),
        ("uq_installed_skills_shared", ["name"], "user_id IS NULL"),
    ):
        op.create_index(
            name,
            "installed_skills",
            columns,
            unique=True,
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )
    op.create_table(
        "skill_choices",
        sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("repository", sa.String(500), primary_key=True),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "skill_repositories",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id", ondelete="CASCADE")),
        sa.Column("marketplace", sa.String(64), nullable=False),
        sa.Column("place", sa.JSON(), nullable=False),
        sa.Column("commit_id", sa.String(64)),
        sa.Column("skills", sa.JSON(), nullable=False),
        sa.Column("problems", sa.JSON(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_skill_repositories_user_id", "skill_repositories", ["user_id"])


def downgrade() -> None:
    op.drop_table("skill_repositories")
    op.drop_table("skill_choices")
    op.drop_table("installed_skills")
