"""Reads the zip file of an exported conversation, so that the conversation can be imported. The zip file
comes from the route `download` of Slipway or from an agent server.
"""

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from agent_runtime.events.union import parse_event
from app_server.core.errors import AppError, PayloadTooLarge
from app_server.events.schemas import DurableFrame
from app_server.git.address import InvalidRepository, parse_address
from app_server.http.json_limits import MAX_VALUES, values_in

META = "meta.json"
MAX_EVENTS = 20_000
MAX_EVENT_BYTES = 8 * 1024**2
MAX_TOTAL_BYTES = 64 * 1024**2
MAX_META_BYTES = 1024**2
MAX_TOTAL_VALUES = 4 * MAX_VALUES
"""The largest number of JSON values in all events together, counted as in `json_limits`: commas inside texts
count, too. A decoded value takes about a hundred bytes, so this limits the memory of an import.
"""
_MAX_TITLE = 200
_EVENT = re.compile(r"(?:event_|events/event-)(\d{1,9})[_-][^/]+\.json")

_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
"""The errors that `zipfile` raises for damaged files, and for compression methods that it does not support.
"""


class NotAnExport(AppError):
    """The error for a file that cannot be imported, because it is too large or is not an exported
    conversation. The text of the error says what is wrong.
    """

    status = 422
    code = "not_an_export"


class TooManyValues(PayloadTooLarge):
    """The error for a file with more JSON values than one event or one file may have."""

    code = "import_too_many_values"


@dataclass(frozen=True)
class ImportedLog:
    """The content of an exported conversation: its events, numbered from 1, and its title, model and
    repository.
    """

    frames: list[DurableFrame]
    title: str | None
    model: str | None
    repository: str | None


def read_export(content: bytes) -> ImportedLog:
    """Reads and checks the zip file of an exported conversation, and returns its content. Paths in the zip
    file are never used as paths on the disk. Raises NotAnExport if the file cannot be imported. Raises
    TooManyValues if it has too many JSON values. The function may take some seconds, so callers must run it
    in a thread.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            described = _unpacked(archive, archive.getinfo(META), MAX_META_BYTES)
            _checked_values(described, META)
            meta = orjson.loads(described)
            if not isinstance(meta, dict):
                raise NotAnExport(f"{META} is not a JSON object.")
            frames = list(_frames(archive))
    except (*_UNREADABLE, KeyError, orjson.JSONDecodeError) as error:
        raise NotAnExport(f"The file cannot be read: {error}.") from error
    except RuntimeError as error:  # it is encrypted
        raise NotAnExport(str(error)) from error
    if not frames:
        raise NotAnExport("There are no events in the file.")
    title = _text(meta.get("title"), _MAX_TITLE)
    return ImportedLog(frames, title, _text(meta.get("llm_model"), _MAX_TITLE), _repository(meta))


def _frames(archive: zipfile.ZipFile) -> Iterator[DurableFrame]:
    numbered = [
        (int(match[1]), entry) for entry in archive.infolist() if (match := _EVENT.fullmatch(entry.filename))
    ]
    if len(numbered) > MAX_EVENTS:
        raise NotAnExport(f"There are more than {MAX_EVENTS} events in the file.")
    known: set[str] = set()
    room, values = MAX_TOTAL_BYTES, 0
    for seq, (_, entry) in enumerate(sorted(numbered, key=lambda pair: pair[0]), start=1):
        body = _unpacked(archive, entry, min(room, MAX_EVENT_BYTES))
        room -= len(body)
        values += _checked_values(body, entry.filename)
        if values > MAX_TOTAL_VALUES:
            raise TooManyValues(f"The events in the file have more than {MAX_TOTAL_VALUES} JSON values.")
        try:
            parse_event(body)
            frame = DurableFrame(type="durable", seq=seq, event=orjson.loads(body))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise NotAnExport(f"{entry.filename[:200]}: {where}: {first['msg']}") from error
        if frame.envelope.id in known:
            raise NotAnExport(f"The event {frame.envelope.id} occurs twice.")
        known.add(frame.envelope.id)
        yield frame


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    # The sizes that a zip states are what its maker says: no more is unpacked, whatever comes.
    with archive.open(entry) as source:
        content = source.read(most + 1)
    if len(content) > most:
        raise NotAnExport(f"The file is too large, from {entry.filename[:200]} on.")
    return content


def _checked_values(body: bytes, name: str) -> int:
    """Returns the number of JSON values in a file of the zip file. Raises TooManyValues if there are too
    many. It is called before the file is decoded, because decoded values take much memory.
    """
    values = values_in(body)
    if values > MAX_VALUES:
        raise TooManyValues(f"{name[:200]} has more than {MAX_VALUES} JSON values.")
    return values


def _text(given: Any, most: int) -> str | None:
    if not isinstance(given, str):
        return None
    return "".join(each for each in given if each.isprintable())[:most].strip() or None


def _repository(meta: dict[str, Any]) -> str | None:
    """Returns the URL of the repository that the exported conversation used. Returns None if the exported
    file names no repository, an invalid one, or a directory on a disk.

    The URL is only shown to people; the import does not fetch the repository.
    """
    given = _text(meta.get("selected_repository"), 2000)
    try:
        address = parse_address(given) if given else None
    except InvalidRepository:
        return None
    return address.public_url if address and address.local_path is None else None
