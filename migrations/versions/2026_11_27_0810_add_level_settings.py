"""Add settings of the organisation and of teams. The settings of each user become the level below them."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "add_level_settings"
down_revision = "add_audit_streams"
branch_labels = None
depends_on = None

MOVED = {
    "confirmation_mode": sa.String(20),
    "sandbox_grouping_strategy": sa.String(40),
    "commit_trailer": sa.String(20),
    "max_iterations": sa.Integer(),
}
SETTINGS = sa.table(
    "user_settings",
    sa.column("user_id", sa.Uuid()),
    sa.column("registered_marketplaces", sa.JSON()),
    *(sa.column(name, type_) for name, type_ in MOVED.items()),
)
LEVELS = sa.table(
    "level_settings",
    sa.column("owner_id", sa.Uuid()),
    sa.column("name", sa.String()),
    sa.column("level", sa.String()),
    sa.column("user_id", sa.Uuid()),
    sa.column("value", sa.JSON()),
    sa.column("enforced", sa.Boolean()),
    sa.column("set_by", sa.Uuid()),
    sa.column("updated_at", sa.DateTime(timezone=True)),
)


def upgrade() -> None:
    op.create_table(
        "level_settings",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("level", sa.String(40), nullable=False),
        sa.Column("team_id", sa.Uuid()),
        sa.Column("user_id", sa.Uuid()),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("enforced", sa.Boolean(), nullable=False),
        sa.Column("set_by", sa.Uuid()),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "name", name="pk_level_settings"),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name="fk_level_settings_team_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_level_settings_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["set_by"], ["users.id"], name="fk_level_settings_set_by", ondelete="SET NULL"
        ),
    )
    op.create_index("ix_level_settings_team_id", "level_settings", ["team_id"])
    op.create_index("ix_level_settings_user_id", "level_settings", ["user_id"])
    connection = op.get_bind()
    moment = datetime.now(UTC)
    rows = [
        {
            "owner_id": row["user_id"],
            "name": name,
            "level": "user",
            "user_id": row["user_id"],
            "value": row[name],
            "enforced": False,
            "set_by": row["user_id"],
            "updated_at": moment,
        }
        for row in connection.execute(sa.select(SETTINGS)).mappings()
        for name in MOVED
        if row[name] is not None
    ]
    if rows:
        op.bulk_insert(LEVELS, rows)
    for name in MOVED:
        op.drop_column("user_settings", name)


def downgrade() -> None:
    for name, type_ in MOVED.items():
        op.add_column("user_settings", sa.Column(name, type_))
    connection = op.get_bind()
    have = set(connection.scalars(sa.select(SETTINGS.c.user_id)))
    own = sa.select(LEVELS).where(LEVELS.c.level == "user", LEVELS.c.name.in_(MOVED))
    for row in connection.execute(own).mappings().all():
        owner = row["owner_id"]
        if owner not in have:
            have.add(owner)
            connection.execute(sa.insert(SETTINGS).values(user_id=owner, registered_marketplaces=[]))
        this = sa.update(SETTINGS).where(SETTINGS.c.user_id == owner)
        connection.execute(this.values({row["name"]: row["value"]}))
    op.drop_table("level_settings")
