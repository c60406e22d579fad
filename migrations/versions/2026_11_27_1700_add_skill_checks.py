"""Note when an installed skill was compared with its source, and what was found."""

import sqlalchemy as sa
from alembic import op

revision = "add_skill_checks"
down_revision = "add_level_items"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("installed_skills") as table:
        table.add_column(sa.Column("has_update", sa.Boolean(), nullable=False, server_default=sa.false()))
        table.add_column(sa.Column("checked_at", sa.DateTime(timezone=True)))
        table.add_column(sa.Column("check_problem", sa.Text()))


def downgrade() -> None:
    with op.batch_alter_table("installed_skills") as table:
        table.drop_column("check_problem")
        table.drop_column("checked_at")
        table.drop_column("has_update")
