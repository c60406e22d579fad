"""Bind browser sessions to a proof that only pages of our own origin know, and note who has signed in.

Sessions from before have no proof: everybody signs in anew.
"""

import sqlalchemy as sa
from alembic import op

revision = "add_page_proof"
down_revision = "add_title_given"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("signed_in_at", sa.DateTime(timezone=True), nullable=True))
    for table in ("web_sessions", "sign_in_links WHERE used_at IS NOT NULL"):
        op.execute(
            "UPDATE users SET signed_in_at = CURRENT_TIMESTAMP "  # noqa: S608 (names of our own)
            f"WHERE signed_in_at IS NULL AND id IN (SELECT user_id FROM {table})"
        )
    op.execute("DELETE FROM web_sessions")
    with op.batch_alter_table("web_sessions") as table:
        table.add_column(sa.Column("id", sa.Uuid(), nullable=False))
        table.add_column(sa.Column("proof_hash", sa.String(64), nullable=False))
        table.create_unique_constraint("uq_web_sessions_id", ["id"])


def downgrade() -> None:
    with op.batch_alter_table("web_sessions") as table:
        table.drop_constraint("uq_web_sessions_id", type_="unique")
        table.drop_column("proof_hash")
        table.drop_column("id")
    op.drop_column("users", "signed_in_at")
