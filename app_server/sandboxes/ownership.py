"""Whose a process sandbox is, where several app servers share a database: its files lie on one machine alone.

Any other server would bring up an empty one beside it. Containers are found on whatever engine they share.
"""

import secrets
from pathlib import Path

from sqlalchemy import ColumnElement, or_, true

from app_server.config import Config
from app_server.errors import Unavailable
from app_server.sandboxes.models import Sandbox, SandboxStatus
from app_server.sandboxes.process import SPEC_ID as PROCESS

_FILE = "server-id"


class Ownership:
    def __init__(self, config: Config) -> None:
        self._home = config.home
        self.server_id = _id_of(config.home) if config.is_database_shared else None
        """Kept in the home, with which it moves. None: no other server is on the database."""

    @property
    def is_mine(self) -> ColumnElement[bool]:
        """Of the rows of sandboxes: whether this server may bring them up, stop or remove them."""
        if self.server_id is None:
            return true()
        return or_(Sandbox.server_id.is_(None), Sandbox.server_id == self.server_id)

    def require(self, sandbox: Sandbox) -> None:
        """Raises Unavailable (`sandbox_on_other_server`)."""
        if self.server_id in {None, sandbox.server_id} or sandbox.spec_id != PROCESS:
            return
        if sandbox.server_id is None and self._may_be_here(sandbox):
            return
        raise on_other_server()

    def _may_be_here(self, sandbox: Sandbox) -> bool:
        """Of a row of an older version, which did not note it."""
        folder = self._home / "sandboxes" / sandbox.id.hex
        return sandbox.status in {SandboxStatus.STARTING, SandboxStatus.ARCHIVED} or folder.exists()


def on_other_server() -> Unavailable:
    return Unavailable(
        "The sandbox of this conversation is a process of another Slipway server on the same database.",
        code="sandbox_on_other_server",
        fix="Send the request to that server. For sandboxes that all servers reach, use Docker on an engine "
        "that they share, or SLIPWAY_SANDBOX=remote.",
    )


def _id_of(home: Path) -> str:
    path = home / _FILE
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_suffix(".new")
        draft.write_text(secrets.token_hex(16))
        draft.replace(path)
    return path.read_text().strip()
