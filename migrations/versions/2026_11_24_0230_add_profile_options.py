"""Keep what a user sets for calls of a model, and what the server adds to them."""

import sqlalchemy as sa
from alembic import op

revision = "add_profile_options"
down_revision = "add_unsent_titles"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("options", "extra_headers_encrypted"):
        op.add_column("llm_profiles", sa.Column(name, sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    for name in ("extra_headers_encrypted", "options"):
        op.drop_column("llm_profiles", name)
