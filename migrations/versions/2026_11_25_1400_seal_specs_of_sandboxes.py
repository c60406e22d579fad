"""Note of which sandboxes all conversations have sealed specifications: of those made from now on."""

import sqlalchemy as sa
from alembic import op

revision = "seal_specs_of_sandboxes"
down_revision = "add_runtime_plugins_of_specs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "sandboxes", sa.Column("seals_specs", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    op.drop_column("sandboxes", "seals_specs")
