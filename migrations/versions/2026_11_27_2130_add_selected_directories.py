"""Let the agent of a conversation work in a folder of its repository, and note submodules."""

import sqlalchemy as sa
from alembic import op

revision = "add_selected_directories"
down_revision = "index_words_of_events"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("selected_directory", sa.Text(), nullable=True))
    op.add_column("conversations", sa.Column("submodules", sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("conversations") as table:
        table.drop_column("submodules")
        table.drop_column("selected_directory")
