"""Encrypts all stored secrets with the newest encryption key.

Each batch of rows is one transaction. If a rotation is killed, every value can still be decrypted, because
the older keys stay stored. The next rotation continues where the killed one stopped.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, Table, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

# All features, so that the tables of all are known.
from app_server import lifespan as _all_features  # noqa: F401
from app_server.core.config import Config
from app_server.core.database import Base, Database
from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError
from app_server.core.jobs.models import Job
from app_server.egress.tls.authority import renew_encryption

BATCH = 200

_Change = Callable[[str], str]


@dataclass
class Rotation:
    """The result of encrypting all stored secrets with the newest key. `renewed`: how many values were
    encrypted again. `unreadable`: for each value that no known key can decrypt, a text with its table, column
    and primary key.
    """

    renewed: int = 0
    unreadable: list[str] = field(default_factory=list)


async def rotate(database: Database, config: Config, cipher: Cipher) -> Rotation:
    """Encrypts all stored secrets with the newest key. Values that are already encrypted with this key stay
    unchanged. Returns how many values this call has encrypted, and which values cannot be decrypted.
    """
    done = Rotation()
    async for location, token in _stored(database):
        if not cipher.is_newest(token) and not _is_readable(cipher, token):
            done.unreadable.append(location)
    for table, columns in encrypted_columns():
        done.renewed += await _rotate_table(database, cipher, table, columns)
    done.renewed += renew_encryption(config, cipher)
    return done


async def is_finished(database: Database, cipher: Cipher) -> bool:
    """Returns whether every encrypted text in the database was encrypted with the newest key, so that the
    older keys are no longer needed.
    """
    async for _location, token in _stored(database):
        if not cipher.is_newest(token):
            return False
    return True


def encrypted_columns() -> Iterator[tuple[Table, list[Column[Any]]]]:
    """Yields the tables that contain encrypted values, each with the columns that contain them.

    A column contains encrypted values if its name begins with `encrypted_` or ends with `_encrypted`. If such
    a column contains a JSON object, all texts in the object are encrypted.

    The table of jobs is an exception: its column `payload` contains a JSON object in which only some texts
    are encrypted. These are the texts whose key begins with `encrypted_` or ends with `_encrypted`.
    """
    for table in Base.metadata.sorted_tables:
        columns = [one for one in table.columns if _is_encrypted(one.name)]
        if table is Job.__table__:
            columns = [table.columns["payload"]]
        if columns:
            yield table, columns


async def _rotate_table(database: Database, cipher: Cipher, table: Table, columns: list[Column[Any]]) -> int:
    renewed = 0

    def renew(token: str) -> str:
        nonlocal renewed
        if cipher.is_newest(token) or not _is_readable(cipher, token):
            return token
        renewed += 1
        return cipher.renew(token)

    last: tuple[Any, ...] | None = None
    while True:
        async with database.session() as session:
            rows = await _batch(session, table, columns, last, is_for_update=True)
            for identity, values in rows:
                changed = {name: _changed(table, value, renew) for name, value in values.items()}
                if changed != values:
                    # Columns that change with each update keep their values: for users nothing has changed.
                    unchanged_columns = {one.name: one for one in table.columns if one.onupdate is not None}
                    row = update(table).where(*_is_row(table, identity))
                    await session.execute(row.values({**unchanged_columns, **changed}))
        if len(rows) < BATCH:
            return renewed
        last = rows[-1][0]


async def _stored(database: Database) -> AsyncIterator[tuple[str, str]]:
    """Yields a pair for each encrypted value in the database. The first item is a text with the table, the
    column and the primary key of the value. The second item is the encrypted value.
    """
    for table, columns in encrypted_columns():
        last: tuple[Any, ...] | None = None
        while True:
            async with database.read() as session:
                rows = await _batch(session, table, columns, last, is_for_update=False)
            for identity, values in rows:
                for name, value in values.items():
                    for token in _texts(table, value):
                        yield f"{table.name}.{name} of {'/'.join(map(str, identity))}", token
            if len(rows) < BATCH:
                break
            last = rows[-1][0]


async def _batch(
    session: AsyncSession,
    table: Table,
    columns: list[Column[Any]],
    last: tuple[Any, ...] | None,
    *,
    is_for_update: bool,
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Returns the next BATCH rows of a table, in the order of the primary key. Each row is a pair: the
    primary key, and the values of `columns` by column name.

    `last`: the primary key of the last row of the previous batch; None for the first batch. `is_for_update`:
    whether the rows are locked until the transaction ends.
    """
    identity = list(table.primary_key.columns)
    query = select(*identity, *columns).order_by(*identity).limit(BATCH)
    if last is not None:
        query = query.where(tuple_(*identity) > last)
    if is_for_update:
        query = query.with_for_update()
    names = [one.name for one in columns]
    return [
        (tuple(row[: len(identity)]), dict(zip(names, row[len(identity) :], strict=True)))
        for row in await session.execute(query)
    ]


def _changed(table: Table, value: Any, change: _Change) -> Any:
    """Returns a copy of `value` in which each encrypted text is replaced by the result of `change`.

    `value`: the content of one column in one row: one text, or a JSON object with texts. `table`: the table
    of this row. In the table of jobs, only some texts of the object are encrypted (see `encrypted_columns`).
    `change`: a function that gets an encrypted text and returns the new text.
    """
    if isinstance(value, dict):
        is_payload = table is Job.__table__
        return {
            name: change(one) if isinstance(one, str) and (not is_payload or _is_encrypted(name)) else one
            for name, one in value.items()
        }
    return change(value) if isinstance(value, str) else value


def _texts(table: Table, value: Any) -> list[str]:
    """Returns all encrypted texts in `value`, the content of one column in one row: one text, or a JSON
    object with texts. `table`: the table of this row. In the table of jobs, only some texts of the object are
    encrypted (see `encrypted_columns`).
    """
    found: list[str] = []

    def note(token: str) -> str:
        found.append(token)
        return token

    _changed(table, value, note)
    return found


def _is_encrypted(name: str) -> bool:
    return name.startswith("encrypted_") or name.endswith("_encrypted")


def _is_row(table: Table, identity: tuple[Any, ...]) -> list[Any]:
    return [column == value for column, value in zip(table.primary_key.columns, identity, strict=True)]


def _is_readable(cipher: Cipher, token: str) -> bool:
    try:
        cipher.decrypt(token)
    except ConfigurationError:
        return False
    return True
