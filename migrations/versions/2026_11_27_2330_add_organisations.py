"""Keep organisations. One default organisation gets all users and teams."""

from datetime import UTC, datetime
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "add_organisations"
down_revision = "add_team_repositories"
branch_labels = None
depends_on = None

_DEFAULT = UUID(int=0)
_KEYS = sa.table("api_keys", sa.column("id", sa.Uuid()), sa.column("scopes", sa.JSON()))
_OF_USERS_AND_TEAMS = sa.text(f"'{_DEFAULT.hex}'")


def upgrade() -> None:
    organisations = op.create_table(
        "organisations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("name_key", sa.String(300), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name_key"),
    )
    default = {"id": _DEFAULT, "name": "Default", "name_key": "default", "created_at": datetime.now(UTC)}
    op.execute(organisations.insert().values(default))
    for table in ("users", "teams"):
        # No foreign key: SQLite cannot add one to a table with rows.
        op.add_column(
            table,
            sa.Column("organisation_id", sa.Uuid(), nullable=False, server_default=_OF_USERS_AND_TEAMS),
        )
    op.create_index("ix_users_organisation_id", "users", ["organisation_id"])
    op.add_column("audit_entries", sa.Column("organisation_id", sa.Uuid(), nullable=True))
    op.create_index("ix_audit_entries_organisation_id", "audit_entries", ["organisation_id", "id"])
    _keep_team_repositories(in_organisations=True)
    _share_profiles_in_organisations()
    _widen_keys("administer", "installation")


def downgrade() -> None:
    _narrow_keys("installation")
    _keep_team_repositories(in_organisations=False)
    op.add_column(
        "llm_profiles", sa.Column("is_shared", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    profiles = sa.table(
        "llm_profiles", sa.column("is_shared", sa.Boolean()), sa.column("shared_in", sa.Uuid())
    )
    op.execute(profiles.update().where(profiles.c.shared_in == _DEFAULT).values(is_shared=True))
    op.drop_index("uq_llm_profiles_shared", "llm_profiles")
    op.drop_column("llm_profiles", "shared_in")
    is_shared = sa.text("is_shared")
    op.create_index(
        "uq_llm_profiles_shared",
        "llm_profiles",
        ["name"],
        unique=True,
        sqlite_where=is_shared,
        postgresql_where=is_shared,
    )
    op.drop_index("ix_audit_entries_organisation_id", "audit_entries")
    op.drop_column("audit_entries", "organisation_id")
    op.drop_index("ix_users_organisation_id", "users")
    op.drop_column("users", "organisation_id")
    op.drop_column("teams", "organisation_id")
    op.drop_table("organisations")


def _keep_team_repositories(*, in_organisations: bool) -> None:
    """Makes the table anew, because its primary key changes. No other table refers to it."""
    known = sa.table(
        "team_repositories",
        sa.column("key", sa.String()),
        sa.column("team_id", sa.Uuid()),
        sa.column("name", sa.String()),
        sa.column("created_at", sa.DateTime(timezone=True)),
    )
    query = sa.select(known)
    if not in_organisations:
        query = query.where(sa.column("organisation_id", sa.Uuid()) == _DEFAULT)
    rows = [row._asdict() for row in op.get_bind().execute(query)]
    op.drop_table("team_repositories")
    keys = [sa.Column("organisation_id", sa.Uuid(), nullable=False)] if in_organisations else []
    made = op.create_table(
        "team_repositories",
        *keys,
        sa.Column("key", sa.String(500), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name="fk_team_repositories_team_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(*(column.name for column in keys), "key", name="pk_team_repositories"),
    )
    op.create_index("ix_team_repositories_team_id", "team_repositories", ["team_id"])
    if rows:
        added = {"organisation_id": _DEFAULT} if in_organisations else {}
        op.bulk_insert(made, [{**row, **added} for row in rows])


def _share_profiles_in_organisations() -> None:
    op.add_column("llm_profiles", sa.Column("shared_in", sa.Uuid(), nullable=True))
    profiles = sa.table(
        "llm_profiles", sa.column("is_shared", sa.Boolean()), sa.column("shared_in", sa.Uuid())
    )
    op.execute(profiles.update().where(profiles.c.is_shared).values(shared_in=_DEFAULT))
    op.drop_index("uq_llm_profiles_shared", "llm_profiles")
    op.drop_column("llm_profiles", "is_shared")
    op.create_index("uq_llm_profiles_shared", "llm_profiles", ["shared_in", "name"], unique=True)


def _widen_keys(has: str, gets: str) -> None:
    """Keys may do what they could do before: the installation was a part of `administer`."""
    for id_, scopes in _limited_keys():
        if has in scopes:
            op.execute(_KEYS.update().where(_KEYS.c.id == id_).values(scopes=[*scopes, gets]))


def _narrow_keys(loses: str) -> None:
    for id_, scopes in _limited_keys():
        if loses in scopes:
            kept = [one for one in scopes if one != loses]
            op.execute(_KEYS.update().where(_KEYS.c.id == id_).values(scopes=kept))


def _limited_keys() -> list[tuple[UUID, list[str]]]:
    rows = op.get_bind().execute(sa.select(_KEYS.c.id, _KEYS.c.scopes))
    return [(id_, scopes) for id_, scopes in rows if scopes is not None]
