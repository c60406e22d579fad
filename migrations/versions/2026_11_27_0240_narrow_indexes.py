"""Keep in two indexes of conversations only those that have a value, so that lists use the index by time."""

import sqlalchemy as sa
from alembic import op

revision = "narrow_indexes"
down_revision = "add_marketplaces"
branch_labels = None
depends_on = None

COLUMNS = ("deleted_at", "parent_conversation_id")


def upgrade() -> None:
    for column in COLUMNS:
        name, has_value = f"ix_conversations_{column}", sa.text(f"{column} IS NOT NULL")
        op.drop_index(name, "conversations")
        op.create_index(name, "conversations", [column], postgresql_where=has_value, sqlite_where=has_value)


def downgrade() -> None:
    for column in COLUMNS:
        op.drop_index(f"ix_conversations_{column}", "conversations")
        op.create_index(f"ix_conversations_{column}", "conversations", [column])
