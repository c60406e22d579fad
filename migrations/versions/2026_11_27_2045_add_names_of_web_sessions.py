"""Let users name their signed-in browsers."""

import sqlalchemy as sa
from alembic import op

revision = "add_names_of_web_sessions"
down_revision = "add_invitation_mails"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("web_sessions", sa.Column("name", sa.String(100), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("web_sessions") as table:
        table.drop_column("name")
