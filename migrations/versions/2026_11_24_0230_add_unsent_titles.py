"""Remember titles that users have given and agent servers do not have yet."""

import sqlalchemy as sa
from alembic import op

revision = "add_unsent_titles"
down_revision = "add_size_of_logs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("unsent_title", sa.String(200), nullable=True))
    # Until now a title that a user gave was kept here alone.
    op.execute("UPDATE conversations SET unsent_title = title WHERE title_given")
    op.drop_column("conversations", "title_given")
    op.create_index(
        "ix_conversations_unsent_title",
        "conversations",
        ["id"],
        postgresql_where=sa.text("unsent_title IS NOT NULL"),
        sqlite_where=sa.text("unsent_title IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_conversations_unsent_title", "conversations")
    op.add_column(
        "conversations", sa.Column("title_given", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.execute("UPDATE conversations SET title_given = (unsent_title IS NOT NULL)")
    op.drop_column("conversations", "unsent_title")
