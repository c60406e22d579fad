"""Keep of each signed-in browser what its user recognises it by."""

import sqlalchemy as sa
from alembic import op

revision = "add_web_session_details"
down_revision = "share_profiles"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("web_sessions", sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("web_sessions", sa.Column("user_agent", sa.String(300), nullable=True))
    op.add_column("web_sessions", sa.Column("address", sa.String(64), nullable=True))


def downgrade() -> None:
    op.drop_column("web_sessions", "address")
    op.drop_column("web_sessions", "user_agent")
    op.drop_column("web_sessions", "last_used_at")
