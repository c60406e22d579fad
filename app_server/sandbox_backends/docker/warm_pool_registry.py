"""Records of the containers in the warm pool, as files. The warm pool is the set of containers that are
started before a sandbox needs them. The records say which containers are free, and which sandbox has claimed
which container.

The record of a free container is `free/<id of the container's record>.json`; it is written before the
container is created. To claim the container, an app server renames this file to `used/<sandbox>.json`; only
one app server can succeed. This record is kept until the sandbox is deleted, because it contains the name of
the sandbox's volume.
"""

import hashlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import make_url

from app_server.core.config import Config

PREFIX = "slipway-pool-"
POOL_FOLDER = "pool"


@dataclass(frozen=True)
class PooledContainer:
    """The record of a container that was started in advance for a new sandbox.

    `id`: a part of the names of the container and its volume. `init_key`: a secret that the app server must
    send together with the session key (the key for calls between sandbox and app server). The agent server in
    the container refuses a session key without this secret. `init_key` is None after the session key was
    sent.
    """

    id: str
    init_key: str | None

    @property
    def name(self) -> str:
        """Returns the name of the container's volume. The container has the same name until a sandbox takes
        the container.
        """
        return f"{PREFIX}{self.id}"


class WarmPoolRegistry:
    """The records of the containers that the app server of one home directory has started in advance for new
    sandboxes (the warm pool). The records are stored as files. All methods block the thread for a moment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free = folder / "free"
        self._used = folder / "used"

    @property
    def owner(self) -> str:
        """Returns the random id of this app server's home directory. The containers that this app server
        starts in advance for new sandboxes have this id as a Docker label. The label is needed because app
        servers with other home directories may use the same Docker engine.
        """
        path = self._folder / "owner"
        if not path.exists():
            _write(path, secrets.token_hex(8))
        return path.read_text()

    @property
    def are_any(self) -> bool:
        """Returns False only if this app server has never started containers in advance (for the warm pool).
        Then there are no old containers to look for after a restart.
        """
        return self._folder.exists()

    def new(self) -> PooledContainer:
        member = PooledContainer(secrets.token_hex(16), secrets.token_urlsafe(32))
        _write(self._free / f"{member.id}.json", _as_text(member))
        return member

    def free(self) -> list[PooledContainer]:
        found = (_read(path) for path in sorted(self._free.glob("*.json")))
        return [member for member in found if member]

    def claimed(self) -> list[PooledContainer]:
        found = (_read(path) for path in self._used.glob("*.json"))
        return [member for member in found if member]

    def claim(self, member: PooledContainer, sandbox_id: UUID) -> bool:
        """Records that the sandbox uses this container of the warm pool (containers started in advance) from
        now on. Returns whether this succeeded: False if another app server has claimed the container already.
        """
        self._used.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            (self._free / f"{member.id}.json").rename(self._path(sandbox_id))
        except FileNotFoundError:
            return False
        return True

    def of(self, sandbox_id: UUID) -> PooledContainer | None:
        return _read(self._path(sandbox_id))

    def hand_over(self, sandbox_id: UUID) -> None:
        """Deletes the init key from the sandbox's record. The init key is a secret. The app server must send
        it together with the first session key (the key for calls between sandbox and app server).

        Called after the app server has sent the session key to the agent server, even if there was no reply.
        The init key is not needed later.
        """
        if member := self.of(sandbox_id):
            _write(self._path(sandbox_id), _as_text(replace(member, init_key=None)))

    def discard(self, member: PooledContainer) -> None:
        (self._free / f"{member.id}.json").unlink(missing_ok=True)

    def forget(self, sandbox_id: UUID) -> None:
        self._path(sandbox_id).unlink(missing_ok=True)

    def _path(self, sandbox_id: UUID) -> Path:
        return self._used / f"{sandbox_id.hex}.json"


def installation_of(config: Config) -> str:
    """Returns an id of this installation. All app servers with the same database get the same id; app servers
    with another database get another id.
    """
    url = make_url(config.resolved_database_url).render_as_string(hide_password=True)
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def _as_text(member: PooledContainer) -> str:
    return json.dumps(asdict(member))


def _read(path: Path) -> PooledContainer | None:
    try:
        return PooledContainer(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    """Writes the text to the file atomically. Only the operating system user that runs the app server can
    read the file. If several processes write at the same time, the file contains the text that was written
    last.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.stem}.{uuid4().hex}.new")
    with unfinished.open("w") as file:
        unfinished.chmod(0o600)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
