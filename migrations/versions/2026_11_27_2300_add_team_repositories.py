"""Add the repositories of teams, their maintainers, and the team of a conversation."""

import sqlalchemy as sa
from alembic import op

revision = "add_team_repositories"
down_revision = "add_git_certificate_authorities"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "team_repositories",
        sa.Column("key", sa.String(500), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name="fk_team_repositories_team_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name="pk_team_repositories"),
    )
    op.create_index("ix_team_repositories_team_id", "team_repositories", ["team_id"])
    op.create_table(
        "team_repository_rules",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("members_see", sa.String(40), nullable=False),
        sa.Column("members_only", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name="fk_team_repository_rules_team_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", name="pk_team_repository_rules"),
    )
    op.create_table(
        "team_maintainers",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id", "user_id"],
            ["team_members.team_id", "team_members.user_id"],
            name="fk_team_maintainers_member",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_team_maintainers"),
    )
    op.create_index("ix_team_maintainers_user_id", "team_maintainers", ["user_id"])
    op.create_table(
        "conversation_teams",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("sandbox_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name="fk_conversation_teams_conversation_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name="fk_conversation_teams_team_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("conversation_id", name="pk_conversation_teams"),
    )
    op.create_index("ix_conversation_teams_sandbox_id", "conversation_teams", ["sandbox_id"])
    op.create_index("ix_conversation_teams_team_id", "conversation_teams", ["team_id"])


def downgrade() -> None:
    for table in ("conversation_teams", "team_maintainers", "team_repository_rules", "team_repositories"):
        op.drop_table(table)
