"""Give conversations a key with which programs in their sandbox call the model."""

import sqlalchemy as sa
from alembic import op

revision = "add_model_keys"
down_revision = "add_jobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("model_key_hash", sa.String(64)))
    op.add_column("conversations", sa.Column("model_key_until", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("conversations", "model_key_until")
    op.drop_column("conversations", "model_key_hash")
