"""Keep with each conversation which events make up its folded state."""

import sqlalchemy as sa
from alembic import op

revision = "add_folded_state"
down_revision = "add_level_settings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("folded_state", sa.JSON()))


def downgrade() -> None:
    op.drop_column("conversations", "folded_state")
