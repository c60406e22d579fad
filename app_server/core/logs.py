"""Formats log records: one line each, with the ids of the request or task that the record belongs to. Records
never contain secrets.

    2026-11-20T21:57:36Z INFO app_server.conversations.start.steps ready conversation_id=0f3… request_id=91c…

`bind` adds an id to everything that is logged later in the same request or task.
"""

import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime

_bound: ContextVar[Mapping[str, str]] = ContextVar("log_ids")

# What every record carries by itself; anything else came in through `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


def bind(**ids: str) -> None:
    """Adds the given ids to every later log record of the current request or task."""
    _bound.set({**_bound.get({}), **ids})


def configure_logging(*, level: str = "INFO") -> None:
    """Sends the records of the whole process to stderr, one line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    handler.addFilter(_add_bound_ids)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for chatty in ("httpx", "httpcore", "alembic", "LiteLLM", "docker", "urllib3", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


class LineFormatter(logging.Formatter):
    """A formatter that writes time, level, logger and message, then the extra fields by name. A traceback
    follows on lines below.
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields = "".join(f" {name}={_one_line(extra[name])}" for name in sorted(extra))
        line = f"{moment} {record.levelname} {record.name} {_one_line(record.getMessage())}{fields}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def _add_bound_ids(record: logging.LogRecord) -> bool:
    for name, value in _bound.get({}).items():
        if not hasattr(record, name):
            setattr(record, name, value)
    return True


def _one_line(value: object) -> str:
    # A client must not be able to forge a second line.
    return str(value).encode("unicode_escape").decode() if not str(value).isprintable() else str(value)
