"""Shares between all apps of a process what is the same for each of them, so that it is made only once.

- TLS contexts: each client of httpx loads all commonly trusted certificates, 20 ms of processor time.
- SQL: each database engine compiles each statement at its first use, a tenth of the time of some tests.
- Tests of Docker's abilities: see shared_probes.py.
"""

import os
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import httpx._config
import httpx._transports.default
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine import Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from tests.support.shared_probes import share_probes

_STATEMENTS = 10_000


def share() -> None:
    """Shares TLS contexts, compiled SQL and the results of Docker tests from now on, between all apps of this
    process and of processes that are forked from it.
    """
    _share_tls_contexts()
    _share_compiled_sql()
    share_probes()


def _share_tls_contexts() -> None:
    create = httpx._config.create_ssl_context

    @cache
    def usual_context(_certificates: tuple[str | None, str | None], trust_env: bool) -> Any:
        return create(trust_env=trust_env)

    def create_ssl_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        if verify is not True or cert is not None:
            return create(verify, cert, trust_env)
        return usual_context((os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")), trust_env)

    httpx._config.create_ssl_context = create_ssl_context
    httpx._transports.default.create_ssl_context = create_ssl_context


def _share_compiled_sql() -> None:
    statements: Any = LRUCache(_STATEMENTS)
    types: dict[Any, WeakKeyDictionary[Any, Any]] = {}
    create_engine, initialize = Engine.__init__, DefaultDialect.initialize

    def create_and_share(self: Engine, *arguments: Any, **options: Any) -> None:
        create_engine(self, *arguments, **options)
        if type(self.dialect) in _SHARING:
            self._compiled_cache = statements

    def initialize_and_share(self: DefaultDialect, connection: Any) -> None:
        initialize(self, connection)
        if type(self) in _SHARING:
            self._type_memos = types.setdefault(_kind(self), self._type_memos)

    Engine.__init__ = create_and_share  # type: ignore[method-assign]
    DefaultDialect.initialize = initialize_and_share  # type: ignore[method-assign]
    for dialect in _SHARING:
        # Equal dialects find the statements that were compiled for one of them.
        dialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
        dialect.__eq__ = lambda self, other: _kind(self) == _kind(other)  # type: ignore[method-assign]


_SHARING = (SQLiteDialect_aiosqlite, PGDialect_asyncpg)


def _kind(dialect: Any) -> tuple[Any, ...]:
    """Returns a key for the compiled SQL: the type of the database dialect and the version of the database.
    Databases with the same key can share compiled SQL.
    """
    return type(dialect), getattr(dialect, "server_version_info", None)
