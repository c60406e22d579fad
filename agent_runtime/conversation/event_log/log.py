"""The event log of one conversation: an SQLite file with one writer. Positions are 1, 2, 3 … without gaps."""

import fcntl
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent_runtime.conversation.event_log.spec_signature import UNSIGNED, SpecSigner
from agent_runtime.workspace import private_tree
from agent_runtime.workspace.users import are_two, server_files

LOG_NAME = "log.sqlite"
_LOCK_NAME = "writer.lock"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    seen_seq INTEGER,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_timestamp ON events (timestamp);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoints (number INTEGER PRIMARY KEY, body TEXT NOT NULL);
"""


class LogInUseError(Exception):
    """The error that is raised when another process has already opened this log for writing."""


class LogMissingError(Exception):
    """The error that is raised when the directory contains no event log of a conversation."""


class ForeignLogError(sqlite3.DatabaseError):
    """The error that is raised when the log file belongs to, or is open to, other users than the server's."""


@dataclass(frozen=True)
class Record:
    """One event as it is stored in a log. `seq`: the event's position. `seen_seq`: for an event that the
    model wrote, the position of the last event that the model had read before; None for other events.
    """

    seq: int
    id: str
    kind: str
    source: str
    timestamp: str
    seen_seq: int | None
    body: bytes


_HAS_TEXT = """kind = 'MessageEvent' AND EXISTS (
    SELECT 1 FROM json_each(CAST(body AS TEXT), '$.llm_message.content')
    WHERE instr(lower(json_extract(value, '$.text')), lower(?)) > 0
)"""


@dataclass(frozen=True)
class Filter:
    """The conditions that an event must meet in a search. A field with the value None is no condition.
    `text`: a text that the event's message must contain; upper and lower case do not matter.
    """

    kind: str | None = None
    source: str | None = None
    text: str | None = None
    from_timestamp: str | None = None
    before_timestamp: str | None = None

    def to_sql(self) -> tuple[str, list[str]]:
        conditions = {
            "kind = ?": self.kind,
            "source = ?": self.source,
            _HAS_TEXT: self.text,
            "timestamp >= ?": self.from_timestamp,
            "timestamp < ?": self.before_timestamp,
        }
        given = {sql: value for sql, value in conditions.items() if value is not None}
        return " AND ".join(["TRUE", *given]), list(given.values())


EVERYTHING = Filter()

# Selects an event with all its predecessors on the branch, and all updates of the conversation up to a
# position.
_BRANCH = """
WITH RECURSIVE branch (id, parent_id) AS (
    SELECT id, json_extract(CAST(body AS TEXT), '$.parent_id') FROM events WHERE id = :leaf
    UNION ALL
    SELECT parent.id, json_extract(CAST(parent.body AS TEXT), '$.parent_id')
    FROM branch JOIN events AS parent ON parent.id = branch.parent_id
)
SELECT * FROM events
WHERE seq <= :through_seq AND (id IN (SELECT id FROM branch) OR kind = 'ConversationStateUpdateEvent')
ORDER BY seq
"""


_LAST_STATUS = """
SELECT json_extract(CAST(body AS TEXT), '$.value') FROM events
WHERE kind = 'ConversationStateUpdateEvent' AND json_extract(CAST(body AS TEXT), '$.key') = 'execution_status'
ORDER BY seq DESC LIMIT 1
"""


class LogReader:
    """Reads an event log, also during writes to it. Each method blocks the calling thread briefly."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Creates a reader that uses the open database connection `db`. The caller closes the connection."""
        self._db = db
        self.last_seq = self._count()

    def _count(self) -> int:
        (last,) = self._db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
        return int(last)

    def seq_of(self, event_id: str) -> int | None:
        row = self._db.execute("SELECT seq FROM events WHERE id = ?", [event_id]).fetchone()
        return row[0] if row else None

    def get(self, event_id: str) -> Record | None:
        row = self._db.execute("SELECT * FROM events WHERE id = ?", [event_id]).fetchone()
        return Record(*row) if row else None

    def at(self, seq: int) -> Record | None:
        row = self._db.execute("SELECT * FROM events WHERE seq = ?", [seq]).fetchone()
        return Record(*row) if row else None

    def last_model_record(self) -> Record | None:
        """Returns the record of the newest event that the model wrote, or None if there is no such event."""
        row = self._db.execute(
            "SELECT * FROM events WHERE seen_seq IS NOT NULL ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        return Record(*row) if row else None

    def page(
        self, *, after_seq: int, through_seq: int | None = None, limit: int, max_bytes: int | None = None
    ) -> list[Record]:
        """Returns the records after the position `after_seq`, at most `limit` records. Their total size is at
        most `max_bytes` bytes, but the first record is returned even if it is larger. `through_seq`: the last
        position to read; None means the end of the log.
        """
        last = self.last_seq if through_seq is None else through_seq
        rows = self._db.execute(
            "SELECT * FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?", [after_seq, last, limit]
        )
        found: list[Record] = []
        size = 0
        for row in rows:
            record = Record(*row)
            size += len(record.body)
            if found and max_bytes is not None and size > max_bytes:
                break
            found.append(record)
        return found

    def branch(self, leaf: str | None, *, through_seq: int) -> Iterator[Record]:
        """Yields, in log order, the records of the branch (the chat that ends with the event `leaf`) and all
        state updates. If `leaf` is None, yields only state updates. `through_seq`: the last position to read.
        """
        rows = self._db.execute(_BRANCH, {"leaf": leaf, "through_seq": through_seq})
        return (Record(*row) for row in rows)

    def records(self, *, after_seq: int = 0, page_size: int = 500) -> Iterator[Record]:
        """Yields all records after the position `after_seq`. Reads `page_size` records at a time."""
        after = after_seq
        while page := self.page(after_seq=after, limit=page_size):
            yield from page
            after = page[-1].seq

    def newest(self, limit: int) -> Iterator[bytes]:
        """Yields the JSON of the last `limit` events, newest first."""
        rows = self._db.execute("SELECT body FROM events ORDER BY seq DESC LIMIT ?", [limit])
        return (body for (body,) in rows)

    def search(
        self, wanted: Filter, *, from_seq: int | None, descending: bool, limit: int
    ) -> tuple[list[Record], str | None]:
        """Returns a page of the records that match `wanted`, and the id of the first event of the next page.
        The id is None on the last page. `from_seq`: the position where the page begins; None: the first page.
        """
        where, values = wanted.to_sql()
        order, compare = ("DESC", "<=") if descending else ("ASC", ">=")
        start = "TRUE" if from_seq is None else f"seq {compare} {int(from_seq)}"
        sql = f"SELECT * FROM events WHERE {where} AND {start} ORDER BY seq {order} LIMIT ?"  # noqa: S608
        found = [Record(*row) for row in self._db.execute(sql, [*values, limit + 1])]
        return found[:limit], found[limit].id if len(found) > limit else None

    def count(self, wanted: Filter = EVERYTHING) -> int:
        where, values = wanted.to_sql()
        (count,) = self._db.execute(f"SELECT count(*) FROM events WHERE {where}", values).fetchone()  # noqa: S608
        return int(count)

    def seq_before(self, timestamp: str) -> int:
        """Returns the position of the last event older than `timestamp`, or 0 if there is no such event."""
        row = self._db.execute("SELECT max(seq) FROM events WHERE timestamp < ?", [timestamp]).fetchone()
        return row[0] or 0

    def get_meta(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return row[0] if row else None

    def spec_field(self, name: str) -> str | None:
        """Returns one text field of the specification (the data with which the conversation was created).
        Reads only this field. Returns None if the field is null or there is no specification.
        """
        row = self._db.execute(
            "SELECT json_extract(value, ?) FROM meta WHERE key = 'spec'", [f"$.{name}"]
        ).fetchone()
        return row[0] if row else None

    def last_timestamp(self) -> str | None:
        row = self._db.execute("SELECT timestamp FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        return row[0] if row else None

    def last_status(self) -> str | None:
        """Returns the last logged status of the conversation. Returns None if no status is logged."""
        row = self._db.execute(_LAST_STATUS).fetchone()
        return row[0] if row else None

    @property
    def acknowledged_seq(self) -> int:
        """The position of the last event that the app server has confirmed as received."""
        return int(self.get_meta("acknowledged_seq") or 0)


@contextmanager
def reading(directory: Path) -> Iterator[LogReader]:
    """Yields a log reader that any thread may use. Raises LogMissingError if the directory has no log."""
    path = directory / LOG_NAME
    if not path.exists():
        raise LogMissingError(str(directory))
    _require_ours(path)
    db: sqlite3.Connection | None = None
    try:
        with server_files():
            db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            # SQLite opens its files at the first query, which must happen inside `server_files`.
            reader = LogReader(db)
        yield reader
    finally:
        if db is not None:
            with server_files():
                db.close()


class EventLog(LogReader):
    """An event log that can be read and written. At most one such object may be open for a conversation.
    Methods block the calling thread briefly. When `append` returns, the events are safely on disk.
    """

    def __init__(self, directory: Path, *, create: bool = False, signer: SpecSigner = UNSIGNED) -> None:
        """Opens the log in `directory`. `create`: whether to create a missing log; if it is False, a
        missing log raises LogMissingError. `signer`: signs and checks the specification (the data with which
        the conversation was created). Raises LogInUseError if another process has the log open. Raises
        ForeignLogError if the agent's commands can write it. Raises sqlite3.DatabaseError if it is damaged.
        """
        self.signer = signer
        self._name = directory.name
        path = directory / LOG_NAME
        if create:
            private_tree.make(directory)
        elif not path.exists():
            raise LogMissingError(str(directory))
        if path.exists():
            _require_ours(path)
        with server_files():
            private_tree.make_file(directory / _LOCK_NAME)
            self._lock = _take_lock(directory / _LOCK_NAME)
            private_tree.make_file(path)
        try:
            self._open(path)
        except sqlite3.DatabaseError:
            self._lock.close()
            raise

    def _open(self, path: Path) -> None:
        with server_files():
            db = sqlite3.connect(path, isolation_level=None)
            try:
                _prepare(db)
                super().__init__(db)
            except sqlite3.DatabaseError:
                db.close()
                raise

    def close(self) -> None:
        with server_files():
            self._db.close()
        self._lock.close()

    def append(self, records: Sequence[Record]) -> None:
        """Appends the records, or none of them if an error occurs. Raises ValueError if their positions do
        not follow the log's last position. Raises sqlite3.IntegrityError if an id is already in the log.
        """
        expected = range(self.last_seq + 1, self.last_seq + 1 + len(records))
        if [record.seq for record in records] != list(expected):
            raise ValueError(f"the next position is {self.last_seq + 1}")
        rows = [(r.seq, r.id, r.kind, r.source, r.timestamp, r.seen_seq, r.body) for r in records]
        with self.transaction():
            self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self.last_seq += len(records)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Stores all writes inside the `with` block and its nested blocks, or none if an error occurs."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk ends it by itself
                self._db.execute("ROLLBACK")
            raise

    def set_spec(self, text: str, *, name: str | None = None) -> None:
        """Stores the conversation's specification (the data with which it was created) and signs it. The
        signature is a keyed checksum that reveals later changes, also of the directory's name. `name`: the
        name that the directory will get later; None means that it keeps its present name.
        """
        signature = self.signer.sign(name or self._name, text)
        with self.transaction():
            self.set_meta("spec", text)
            if signature is None:
                self._db.execute("DELETE FROM meta WHERE key = 'spec_seal'")
            else:
                self.set_meta("spec_seal", signature)

    def spec(self) -> str | None:
        """Returns the conversation's specification (the data with which it was created), or None if there is
        none. Raises SpecChangedError if the signature shows that another program wrote this data. Replaces a
        signature that was made with an old key. Adds a signature if there is none and the signer allows this.
        """
        text, signature = self.get_meta("spec"), self.get_meta("spec_seal")
        if text is None:
            return None
        self.signer.check(self._name, text, signature)
        if signature != self.signer.sign(self._name, text):
            self.set_spec(text)
        return text

    def set_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    def checkpoints(self) -> list[str]:
        """Returns the stored checkpoints of the workspace as JSON, oldest first."""
        return [body for (body,) in self._db.execute("SELECT body FROM checkpoints ORDER BY number")]

    def put_checkpoint(self, number: int, body: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", [number, body])

    def drop_checkpoints(self, *, below: int) -> None:
        self._db.execute("DELETE FROM checkpoints WHERE number < ?", [below])

    def acknowledge(self, seq: int) -> None:
        """Stores the position of the last event that the app server has confirmed as received."""
        self.set_meta("acknowledged_seq", str(seq))


def _require_ours(path: Path) -> None:
    """Raises ForeignLogError if the log file belongs to another system user than the server's user, or if
    other users can access it. Checks nothing if the agent's commands run as the server's user.
    """
    try:
        is_ours = not are_two() or private_tree.is_of_server(path)
    except FileNotFoundError as error:  # deleted meanwhile
        raise LogMissingError(str(path.parent)) from error
    if not is_ours:
        raise ForeignLogError(f"{path} belongs to another user than the server, or is open to others.")


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    # An event that was published must survive the machine's crash too.
    db.execute("PRAGMA synchronous = FULL")
    db.executescript(_SCHEMA)


def _take_lock(path: Path) -> BinaryIO:
    # The lock belongs to the open file. So the kernel releases it, whatever way this process ends.
    handle = path.open("ab")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        raise LogInUseError(str(path.parent)) from error
    return handle
