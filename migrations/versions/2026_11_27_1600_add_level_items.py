"""Let levels hold named things beside settings: secrets, MCP servers and rules of the network."""

import sqlalchemy as sa
from alembic import op

revision = "add_level_items"
down_revision = "add_commit_signing"
branch_labels = None
depends_on = None

ITEMS = sa.table("level_settings", sa.column("name", sa.String()))


def upgrade() -> None:
    with op.batch_alter_table("level_settings") as table:
        table.alter_column("name", existing_type=sa.String(64), type_=sa.String(300), existing_nullable=False)
        table.add_column(sa.Column("sealed_encrypted", sa.Text()))


def downgrade() -> None:
    op.execute(sa.delete(ITEMS).where(ITEMS.c.name.contains(":")))
    with op.batch_alter_table("level_settings") as table:
        table.drop_column("sealed_encrypted")
        table.alter_column("name", existing_type=sa.String(300), type_=sa.String(64), existing_nullable=False)
