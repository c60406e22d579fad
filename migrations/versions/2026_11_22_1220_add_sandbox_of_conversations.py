"""Name the sandbox of a conversation, and the conversation of a snapshot; working directories move along."""

import sqlalchemy as sa
from alembic import op

revision = "add_sandbox_of_conversations"
down_revision = "create_memory_places"
branch_labels = None
depends_on = None

_NOBODY = sa.text(f"'{'0' * 32}'")
_TO_CONVERSATIONS = """
UPDATE conversations SET working_dir =
(SELECT sandboxes.working_dir FROM sandboxes WHERE sandboxes.id = conversations.id)
"""
_TO_SANDBOXES = """
UPDATE sandboxes SET working_dir =
(SELECT conversations.working_dir FROM conversations WHERE conversations.id = sandboxes.id)
"""


def upgrade() -> None:
    op.add_column("conversations", sa.Column("working_dir", sa.Text(), nullable=True))
    op.execute(_TO_CONVERSATIONS)
    op.drop_column("sandboxes", "working_dir")
    # SQLite cannot forbid NULL later on without making the table anew, which deletes what refers to it.
    for table in ("conversations", "start_tasks"):
        op.add_column(table, sa.Column("sandbox_id", sa.Uuid(), nullable=False, server_default=_NOBODY))
    op.execute("UPDATE conversations SET sandbox_id = id")
    op.execute("UPDATE start_tasks SET sandbox_id = id")
    op.create_index("ix_conversations_sandbox_id", "conversations", ["sandbox_id"])
    op.add_column("archives", sa.Column("conversation_id", sa.Uuid(), nullable=True))
    op.execute("UPDATE archives SET conversation_id = sandbox_id WHERE kind = 'snapshot'")


def downgrade() -> None:
    op.drop_column("archives", "conversation_id")
    op.drop_index("ix_conversations_sandbox_id", "conversations")
    op.drop_column("start_tasks", "sandbox_id")
    op.drop_column("conversations", "sandbox_id")
    op.add_column("sandboxes", sa.Column("working_dir", sa.Text(), nullable=True))
    op.execute(_TO_SANDBOXES)
    op.drop_column("conversations", "working_dir")
