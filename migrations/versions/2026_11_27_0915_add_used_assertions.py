"""Remembers the SAML assertions that were used."""

import sqlalchemy as sa
from alembic import op

revision = "add_used_assertions"
down_revision = "add_skill_catalogue"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "used_assertions",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_used_assertions_valid_until", "used_assertions", ["valid_until"])


def downgrade() -> None:
    op.drop_table("used_assertions")
