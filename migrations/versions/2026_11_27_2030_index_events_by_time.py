"""Find the events of a conversation by their time."""

from alembic import op

revision = "index_events_by_time"
down_revision = "add_commit_signature_counts"
branch_labels = None
depends_on = None

BY_TIME = "ix_events_conversation_id_timestamp_seq"
BY_KIND_AND_TIME = "ix_events_conversation_id_kind_timestamp_seq"


def upgrade() -> None:
    op.create_index(BY_TIME, "events", ["conversation_id", "timestamp", "seq"])
    op.create_index(BY_KIND_AND_TIME, "events", ["conversation_id", "kind", "timestamp", "seq"])


def downgrade() -> None:
    op.drop_index(BY_KIND_AND_TIME, table_name="events")
    op.drop_index(BY_TIME, table_name="events")
