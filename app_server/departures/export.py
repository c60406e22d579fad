"""Exports everything that is stored about a person as a zip file, without secrets."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import orjson
from sqlalchemy import LargeBinary, Table, select

from agent_runtime.streamed_zip import StreamedZip
from app_server.conversations.models import Conversation
from app_server.core.database import Base, Database
from app_server.events import log
from app_server.users.models import User

_LEFT_OUT_COLUMNS: Final = re.compile(r"encrypted|hash|token|secret|proof|lease|prefix$")
_LEFT_OUT_TABLES: Final = frozenset(("recovery_codes", "sign_in_links", "totp_secrets"))
_PAGE = 50

_README = """What this Slipway server stores about one person.

person.json            the account
data/TABLE.jsonl       one line for each thing that belongs to the person: settings, model profiles, names of
                       secrets, git hosts, notes, conversations, pull requests and so on
conversations/ID.jsonl the events of one conversation, in their order

Values of secrets, keys, tokens and passwords are left out, and so are files of workspaces. The files of a
conversation can be downloaded from its page.
"""


async def person_zip(database: Database, person: User) -> AsyncIterator[bytes]:
    """Yields the bytes of a zip file with the stored data of the person, without secrets and without files of
    workspaces. The zip contains `person.json`, `data/TABLE.jsonl` for each table that has rows of the person,
    and `conversations/ID.jsonl` with the events of each conversation.
    """
    zipped = StreamedZip()
    zipped.add("README.txt", _README)
    zipped.add("person.json", _line(User.__table__, person))  # type: ignore[arg-type]
    for table in Base.metadata.sorted_tables:
        if "user_id" not in table.c or table.name in _LEFT_OUT_TABLES:
            continue
        if lines := await _rows(database, table, person.id):
            zipped.add(f"data/{table.name}.jsonl", b"".join(lines))
            for chunk in zipped.take():
                yield chunk
    async with database.read() as session:
        mine = select(Conversation.id).where(Conversation.user_id == person.id)
        ids = (await session.scalars(mine.order_by(Conversation.created_at))).all()
    for id_ in ids:
        with zipped.archive.open(f"conversations/{id_.hex}.jsonl", "w", force_zip64=True) as file:
            first = 1
            while True:
                async with database.read() as session:
                    bodies = await log.read_bodies(session, id_, from_seq=first, limit=_PAGE)
                if not bodies:
                    break
                # Compressing takes the time of many requests.
                await asyncio.to_thread(file.write, ("\n".join(bodies) + "\n").encode())
                first += len(bodies)
                for chunk in zipped.take():
                    yield chunk
    for chunk in zipped.close():
        yield chunk


async def _rows(database: Database, table: Table, person_id: UUID) -> list[bytes]:
    columns = [column for column in table.columns if not _is_left_out(column)]
    async with database.read() as session:
        rows = await session.execute(select(*columns).where(table.c.user_id == person_id))
        return [_encoded({**row._mapping}) for row in rows]  # noqa: SLF001


def _line(table: Table, row: Any) -> bytes:
    return _encoded({column.name: getattr(row, column.name) for column in table.columns})


def _encoded(values: Mapping[str, object]) -> bytes:
    # Ids are converted here: orjson would write those of SQLite with dashes, and those of PostgreSQL without.
    plain = {name: value.hex if isinstance(value, UUID) else value for name, value in values.items()}
    return orjson.dumps(plain, default=_plain, option=orjson.OPT_APPEND_NEWLINE)


def _is_left_out(column: Any) -> bool:
    return isinstance(column.type, LargeBinary) or _LEFT_OUT_COLUMNS.search(column.name) is not None


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return str(value)
    raise TypeError(type(value))
