"""Let session keys be replaced, and end."""

import sqlalchemy as sa
from alembic import op

revision = "add_session_key_rotation"
down_revision = "create_egress"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("session_key_expires_at", sa.DateTime(timezone=True)),
    ("pending_session_key_hash", sa.String(64)),
    ("encrypted_pending_session_key", sa.Text()),
    ("pending_session_key_expires_at", sa.DateTime(timezone=True)),
    ("previous_session_key_hash", sa.String(64)),
    ("previous_session_key_expires_at", sa.DateTime(timezone=True)),
)
_FOUND_BY = ("pending_session_key_hash", "previous_session_key_hash")


def upgrade() -> None:
    for name, kind in _COLUMNS:
        op.add_column("sandboxes", sa.Column(name, kind, nullable=True))
    for name in _FOUND_BY:
        op.create_index(f"ix_sandboxes_{name}", "sandboxes", [name])


def downgrade() -> None:
    for name in _FOUND_BY:
        op.drop_index(f"ix_sandboxes_{name}", "sandboxes")
    for name, _ in _COLUMNS:
        op.drop_column("sandboxes", name)
