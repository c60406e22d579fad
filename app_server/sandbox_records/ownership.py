"""Determines which app server may use a process sandbox if several app servers share a database. A process
sandbox runs as a process on the machine of an app server.

The files of a process sandbox are only on one machine. An app server on another machine would start the
sandbox without its files. Container sandboxes do not belong to one app server, because all app servers reach
them through a shared container engine.
"""

import secrets
from datetime import timedelta
from pathlib import Path

from sqlalchemy import ColumnElement, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.errors import Unavailable
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_records.models import Sandbox, SandboxStatus, ServerLease

ID_FILE = "server-id"
LOST_AFTER = timedelta(days=7)
"""An app server that has not renewed its lease (the right to use its server id) for this long counts as lost.
Other app servers may then delete its sandboxes.
"""


class Ownership:
    def __init__(self, config: Config) -> None:
        self._home = config.home
        self.server_id = _id_of(config.home) if config.is_database_shared else None
        """The id of this app server, which is stored in its home directory. None means that no other app
        server uses the database.
        """
        self.taken_by: str | None = None
        """A text which says that another app server uses the id of this app server. As long as this text is
        set, this app server does not use process sandboxes (sandboxes that run as processes on its machine).
        None means that no other app server uses the id.
        """

    @property
    def is_mine(self) -> ColumnElement[bool]:
        """The SQL condition that is true for the sandboxes that this app server may start, stop and remove.
        These are the sandboxes of this app server, and those that belong to no app server, such as container
        sandboxes.

        If no other app server uses the database, the condition is true for all sandboxes. If another app
        server uses the id of this app server, it is true only for the sandboxes that belong to no app server.
        """
        if self.server_id is None:
            return true()
        if self.taken_by:
            return Sandbox.server_id.is_(None)
        return or_(Sandbox.server_id.is_(None), Sandbox.server_id == self.server_id)

    def require(self, sandbox: Sandbox) -> None:
        """Checks that this app server may use the sandbox. Raises Unavailable `sandbox_on_other_server` if
        the sandbox belongs to another app server. Raises Unavailable `server_id_taken` if another app server
        uses the id of this app server.
        """
        if self.taken_by and sandbox.server_id == self.server_id and sandbox.spec_id == PROCESS:
            raise self.refusal()
        if self.server_id in {None, sandbox.server_id} or sandbox.spec_id != PROCESS:
            return
        if sandbox.server_id is None and self._may_be_here(sandbox):
            return
        raise self.refusal()

    def refusal(self) -> Unavailable:
        """Returns the error for a sandbox that this app server may not use. Such a sandbox runs as a process
        on one machine. The error says that the sandbox belongs to another app server, or that another app
        server uses the id of this app server.
        """
        if self.taken_by is None:
            return on_other_server()
        return Unavailable(
            "Another Slipway server has the id of this one, and its process sandboxes.",
            code="server_id_taken",
            fix=self.taken_by,
        )

    def _may_be_here(self, sandbox: Sandbox) -> bool:
        """Returns whether the files of a process sandbox (which runs as a process on one machine) may be on
        this machine: its folder exists here, or it needs no folder yet (status STARTING or ARCHIVED).

        Used for database rows that an earlier version has written, because these rows do not name the app
        server to which the sandbox belongs.
        """
        folder = self._home / "sandboxes" / sandbox.id.hex
        return sandbox.status in {SandboxStatus.STARTING, SandboxStatus.ARCHIVED} or folder.exists()


def on_other_server() -> Unavailable:
    return Unavailable(
        "The sandbox of this conversation is a process of another Slipway server on the same database.",
        code="sandbox_on_other_server",
        fix="Send the request to that server. For sandboxes that all servers reach, use Docker on an engine "
        "that they share, or SLIPWAY_SANDBOX=remote. If its home is lost, delete the conversation: once the "
        f"server has not run for {LOST_AFTER.days} days, nothing is left of it.",
    )


def is_lost(server_id: InstrumentedAttribute[str | None]) -> ColumnElement[bool]:
    """Returns an SQL condition for rows that name an app server, such as the rows of sandboxes. `server_id`:
    the column with the id of the app server. The condition is true if this app server has not renewed its
    lease (the right to use its id) for longer than the time LOST_AFTER, so that it has probably stopped.
    """
    return (
        select(ServerLease.server_id)
        .where(ServerLease.server_id == server_id, ServerLease.renewed_at < now() - LOST_AFTER)
        .exists()
    )


def _id_of(home: Path) -> str:
    path = home / ID_FILE
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_suffix(".new")
        draft.write_text(secrets.token_hex(16))
        draft.replace(path)
    return path.read_text().strip()
