"""Whose a process sandbox is, where several app servers share a database: its files lie on one machine alone.

Any other server would bring up an empty one beside it. Containers are found on whatever engine they share.
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
"""A server that has not been seen for so long does not keep deleted conversations from being removed."""


class Ownership:
    def __init__(self, config: Config) -> None:
        self._home = config.home
        self.server_id = _id_of(config.home) if config.is_database_shared else None
        """Kept in the home, with which it moves. None: no other server is on the database."""
        self.taken_by: str | None = None
        """Why this server may not serve process sandboxes any more: another one has its id."""

    @property
    def is_mine(self) -> ColumnElement[bool]:
        """Of the rows of sandboxes: whether this server may bring them up, stop or remove them."""
        if self.server_id is None:
            return true()
        if self.taken_by:
            return Sandbox.server_id.is_(None)
        return or_(Sandbox.server_id.is_(None), Sandbox.server_id == self.server_id)

    def require(self, sandbox: Sandbox) -> None:
        """Raises Unavailable (`sandbox_on_other_server`, `server_id_taken`)."""
        if self.taken_by and sandbox.server_id == self.server_id and sandbox.spec_id == PROCESS:
            raise self.refusal()
        if self.server_id in {None, sandbox.server_id} or sandbox.spec_id != PROCESS:
            return
        if sandbox.server_id is None and self._may_be_here(sandbox):
            return
        raise self.refusal()

    def refusal(self) -> Unavailable:
        """Of what another server has, or this one while another has its id."""
        if self.taken_by is None:
            return on_other_server()
        return Unavailable(
            "Another Slipway server has the id of this one, and its process sandboxes.",
            code="server_id_taken",
            fix=self.taken_by,
        )

    def _may_be_here(self, sandbox: Sandbox) -> bool:
        """Of a row of an older version, which did not note it."""
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
    """Whether the server of this id has not been seen for so long that it will not remove anything."""
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
