"""Keep which runtime plugins were found in a sandbox."""

import sqlalchemy as sa
from alembic import op

revision = "add_found_plugins_of_sandboxes"
down_revision = "add_passwords"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("found_plugins", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("sandboxes", "found_plugins")
