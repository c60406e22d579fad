"""Note which runtime plugins a sandbox image offers, and each sandbox that was started from one."""

import sqlalchemy as sa
from alembic import op

revision = "add_runtime_plugins_of_specs"
down_revision = "add_protocol_settings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("sandbox_specs", "sandboxes"):
        op.add_column(table, sa.Column("runtime_plugins", sa.JSON(), nullable=True))


def downgrade() -> None:
    for table in ("sandbox_specs", "sandboxes"):
        op.drop_column(table, "runtime_plugins")
