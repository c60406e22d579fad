"""Give conversations tags, and let their users name another repository."""

import sqlalchemy as sa
from alembic import op

revision = "add_tags"
down_revision = "add_callbacks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("tags", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("conversations", sa.Column("first_repository", sa.Text()))


def downgrade() -> None:
    op.drop_column("conversations", "first_repository")
    op.drop_column("conversations", "tags")
