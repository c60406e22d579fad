"""Add leases: which process serves under a server's id. Servers that have sandboxes count as just seen."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "add_server_leases"
down_revision = "seal_specs_of_sandboxes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    leases = op.create_table(
        "server_leases",
        sa.Column("server_id", sa.String(64), primary_key=True),
        sa.Column("nonce", sa.String(64), nullable=True),
        sa.Column("boot_id", sa.String(100), nullable=False),
        sa.Column("machine_id", sa.String(100), nullable=False),
        sa.Column("home_id", sa.String(100), nullable=False),
        sa.Column("home", sa.String(500), nullable=False),
        sa.Column("host", sa.String(200), nullable=False),
        sa.Column("renewals", sa.BigInteger(), nullable=False),
        sa.Column("renewed_at", sa.DateTime(timezone=True), nullable=False),
    )
    sandboxes = sa.table("sandboxes", sa.column("server_id", sa.String()))
    known = sa.select(sandboxes.c.server_id).where(sandboxes.c.server_id.is_not(None)).distinct()
    nowhere = {"boot_id": "", "machine_id": "", "home_id": "", "home": "", "host": "", "renewals": 0}
    for (server_id,) in op.get_bind().execute(known).all():
        row = {"server_id": server_id, "renewed_at": datetime.now(UTC), **nowhere}
        op.get_bind().execute(sa.insert(leases).values(**row))


def downgrade() -> None:
    op.drop_table("server_leases")
