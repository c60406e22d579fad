"""Lists all conversations of this server in pages. A conversation that is not in memory is not loaded for the
list; the data for the list is read from its log.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.list_entry import Entry, entry_of, read_entry, read_info
from agent_runtime.conversation.event_log.log import LOG_NAME, LogMissingError
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.server.errors import ServerProblem
from agent_runtime.wire import ConversationInfo, ConversationPage

logger = logging.getLogger(__name__)

_UNREADABLE = (LogMissingError, sqlite3.DatabaseError, ValidationError, ValueError)


class ConversationSortOrder(StrEnum):
    CREATED_AT = "CREATED_AT"
    UPDATED_AT = "UPDATED_AT"
    CREATED_AT_DESC = "CREATED_AT_DESC"
    UPDATED_AT_DESC = "UPDATED_AT_DESC"


@dataclass(frozen=True)
class _Fingerprint:
    """The size and modification time of the two files of a conversation's log. They change with every new
    event, so equal fingerprints mean an unchanged log. `log`: the log file. `not_yet_in_log`: SQLite's
    write-ahead log (WAL); None if this file does not exist or is empty.
    """

    log: tuple[int, int]
    not_yet_in_log: tuple[int, int] | None


class Catalog:
    """The list of all conversations of a server. `live`: the conversations in memory; their state is newer
    than their files on disk. `leaving`: the ids of the conversations that are being deleted.
    """

    def __init__(
        self, path: Path, live: Mapping[UUID, ConversationEngine], leaving: Collection[UUID]
    ) -> None:
        self._path = path
        self._live = live
        self._leaving = leaving
        self._known: dict[UUID, tuple[_Fingerprint, Entry | None]] = {}

    def scan(self) -> dict[UUID, Entry]:
        """Returns the list entries of all conversations on disk, by conversation id. Damaged conversations
        are left out.

        Reads only the logs that have changed since the last call.
        """
        seen: dict[UUID, tuple[_Fingerprint, Entry | None]] = {}
        for directory in self._path.iterdir() if self._path.exists() else ():
            conversation_id = _as_id(directory.name)
            if conversation_id is None or conversation_id in self._leaving:
                continue
            if (fingerprint := _fingerprint(directory)) is None:
                continue
            known = self._known.get(conversation_id)
            is_known = known is not None and known[0] == fingerprint
            seen[conversation_id] = known if known and is_known else (fingerprint, _read_entry(directory))
        self._known = seen
        return {found: entry for found, (_, entry) in seen.items() if entry is not None}

    async def search(
        self, *, status: ExecutionStatus | None, order: ConversationSortOrder, page_id: str | None, limit: int
    ) -> ConversationPage:
        found = sorted((_key(one, entry, order), one) for one, entry in (await self._entries(status)).items())
        if order.name.endswith("_DESC"):
            found.reverse()
        if page_id is not None:
            start = _parse_page_id(page_id)
            is_descending = order.name.endswith("_DESC")
            found = [one for one in found if (one[0] <= start if is_descending else one[0] >= start)]
        infos = await self.infos([one for _, one in found[:limit]])
        next_page_id = _page_id(found[limit][0]) if len(found) > limit else None
        return ConversationPage(items=[info for info in infos if info], next_page_id=next_page_id)

    async def count(self, status: ExecutionStatus | None) -> int:
        return len(await self._entries(status))

    async def infos(self, ids: list[UUID]) -> list[ConversationInfo | None]:
        """Returns the descriptions of these conversations, in the same order. An item is None if there is no
        conversation with its id.
        """
        at_rest = [one for one in ids if one not in self._live and one not in self._leaving]
        read = dict(zip(at_rest, await asyncio.to_thread(self._read_infos, at_rest), strict=True))
        return [self._live[one].info() if one in self._live else read.get(one) for one in ids]

    def _read_infos(self, ids: list[UUID]) -> list[ConversationInfo | None]:
        return [_read_info(self._path / one.hex) for one in ids]

    async def _entries(self, status: ExecutionStatus | None) -> dict[UUID, Entry]:
        on_disk = await asyncio.to_thread(self.scan)
        entries = {
            **{one: entry.at_rest() for one, entry in on_disk.items()},
            **{one: entry_of(live.spec, live.state, live.status) for one, live in self._live.items()},
        }
        return {one: entry for one, entry in entries.items() if status in {None, entry.status}}


_Key = tuple[datetime, str]
_ZONED = TypeAdapter(AwareDatetime)


def _key(conversation_id: UUID, entry: Entry, order: ConversationSortOrder) -> _Key:
    is_by_update = order in {ConversationSortOrder.UPDATED_AT, ConversationSortOrder.UPDATED_AT_DESC}
    return (entry.updated_at if is_by_update else entry.created_at, conversation_id.hex)


def _page_id(key: _Key) -> str:
    """Returns the id of a page of the list of conversations, as text. `key`: the sort key of the first
    conversation on the page. It consists of the conversation's id and of the time when the conversation was
    created or last changed.

    The page id contains this key. So it stays valid even if the first conversation is deleted.
    """
    return f"{key[0].isoformat()}~{key[1]}"


def _parse_page_id(page_id: str) -> _Key:
    moment, _, conversation_id = page_id.partition("~")
    try:
        # A time without a zone cannot be compared with times that have one.
        time = _ZONED.validate_python(moment.replace(" ", "+"))
        return time, UUID(conversation_id).hex
    except ValueError as error:
        raise ServerProblem(422, "validation_failed", "page_id: no page has named this id.") from error


def _read_entry(directory: Path) -> Entry | None:
    try:
        return read_entry(directory)
    except _UNREADABLE as error:
        _note_unreadable(directory, error)
        return None


def _read_info(directory: Path) -> ConversationInfo | None:
    try:
        return read_info(directory)
    except _UNREADABLE as error:
        _note_unreadable(directory, error)
        return None


def _note_unreadable(directory: Path, error: Exception) -> None:
    if not isinstance(error, LogMissingError):
        logger.error(
            "the log in %s is damaged: it is not listed and cannot be resumed",
            directory.name,
            extra={"error": type(error).__name__},
        )


def _fingerprint(directory: Path) -> _Fingerprint | None:
    log = directory / LOG_NAME
    try:
        of_log = log.stat()
    except FileNotFoundError:
        return None
    try:
        ahead = log.with_name(f"{LOG_NAME}-wal").stat()
    except FileNotFoundError:
        ahead = None
    # Reading a log may leave an empty WAL file.
    has_ahead = ahead is not None and ahead.st_size > 0
    return _Fingerprint(
        (of_log.st_mtime_ns, of_log.st_size),
        (ahead.st_mtime_ns, ahead.st_size) if ahead and has_ahead else None,
    )


def _as_id(name: str) -> UUID | None:
    try:
        return UUID(hex=name)
    except ValueError:
        return None
