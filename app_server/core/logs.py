"""Writes log records, each as one line with the ids of the request or task that it belongs to. Log records
must never contain secrets. An example:

    2026-11-20T21:57:36Z INFO app_server.conversations.start.steps ready conversation_id=0f3… request_id=91c…

`bind` adds an id to all later log records of the same request or task.
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
    """Adds ids, such as `conversation_id`, to every later log record of the current request or task."""
    _bound.set({**_bound.get({}), **ids})


def configure_logging(*, level: str = "INFO") -> None:
    """Makes the whole process write its log records to stderr, one line each. `level`: records below this
    level are left out.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    handler.addFilter(_add_bound_ids)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for chatty in ("httpx", "httpcore", "alembic", "LiteLLM", "docker", "urllib3", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


class LineFormatter(logging.Formatter):
    """A log formatter that writes one line for each record: the time, the level, the logger and the message,
    and then the additional fields, sorted by name. A traceback follows on separate lines.
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
