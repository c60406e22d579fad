"""Records refused sign-ins in the audit log. Any visitor can cause refused sign-ins, so the number of entries
is limited.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated
from uuid import UUID

from starlette.requests import HTTPConnection

from app_server.access.audit_trail import address_of
from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome
from app_server.audit.chain import Actor, NewEntry, record
from app_server.core.background import Background
from app_server.core.database import Database
from app_server.core.errors import AppError
from app_server.core.server_objects import from_server

MAX_PER_MINUTE = 60


@dataclass
class RefusedSignIns:
    """A recorder that writes the refused sign-ins of one app server into the audit log, at most
    MAX_PER_MINUTE entries a minute. Further refusals are only counted, and the next entry states their
    number.
    """

    database: Database
    background: Background
    _recent: deque[float] = field(default_factory=deque)
    _left_out: int = 0

    @contextmanager
    def watched(self, connection: HTTPConnection, means: ActorMeans) -> Iterator[None]:
        """Returns a context manager for code that signs a user in. If this code raises an AppError, the
        context manager records a refused sign-in in the audit log and lets the error pass on. `means`: the
        kind of sign-in, such as by a link or by a password.
        """
        try:
            yield
        except AppError as refusal:
            self.tell(connection, means, refusal.code)
            raise

    def tell(
        self,
        connection: HTTPConnection,
        means: ActorMeans,
        code: str,
        *,
        provider: str | None = None,
        user_id: UUID | None = None,
    ) -> None:
        """Writes an entry about a refused sign-in to the audit log, unless there were MAX_PER_MINUTE entries
        in the last minute.

        `means`: the kind of sign-in, such as by a link or by a password. `code`: the code of the error.
        `provider`: the name of the identity provider; None if there is none. `user_id`: the user; None if
        unknown. The entry is written in a separate transaction, because the transaction of the request may be
        rolled back.
        """
        while self._recent and monotonic() - self._recent[0] > 60:
            self._recent.popleft()
        if len(self._recent) >= MAX_PER_MINUTE:
            self._left_out += 1
            return
        self._recent.append(monotonic())
        details = {"code": code, "provider": provider, "left_out_before": self._left_out or None}
        self._left_out = 0
        entry = NewEntry(
            Actor(means, user_id=user_id, address=address_of(connection)),
            AuditAction.SIGN_IN_REFUSED,
            outcome=AuditOutcome.REFUSED,
            details=details,
        )
        self.background.start(self._write(entry), name="record a refused sign-in")

    async def _write(self, entry: NewEntry) -> None:
        async with self.database.session() as session:
            record(session, entry)


ServerRefusedSignIns = Annotated[RefusedSignIns, from_server("refused_sign_ins")]
