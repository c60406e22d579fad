"""Caches package files, such as Python wheels, for all sandboxes of one user. The app server fetches and
serves the files.

The app server writes the request to the package host itself, so that one sandbox cannot influence what
another one gets. Each request is checked by the policy first.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import h11

from app_server.core.config import Config
from app_server.egress.client_side import Asked, ClientSide
from app_server.egress.credentials.credentials import Held
from app_server.egress.package_cache.files import (
    PackageFiles,
    is_plain,
    length_of,
    seconds_kept,
    wants_new,
    wants_none_kept,
)
from app_server.egress.package_cache.store import Draft, Kept, PackageStore
from app_server.egress.policy_decision import AllowedRoute
from app_server.http.outgoing_proxy import Scheme

logger = logging.getLogger(__name__)

CACHE_HEADER = "X-Slipway-Cache"
FOLDER = "package-cache"

SENT = (
    (b"user-agent", b"slipway-package-cache"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"identity"),
)
"""The only headers that a host gets, besides the address and a credential of the user."""

_KEPT_HEADERS = frozenset((b"content-type", b"etag", b"last-modified"))


class PackageCache:
    """The cache of package files; there is one for each process. Nothing is stored if its size limit is 0."""

    def __init__(self, config: Config) -> None:
        self._store = (
            PackageStore(Path(config.home) / FOLDER, config.package_cache_bytes)
            if config.package_cache_bytes
            else None
        )
        self._files = PackageFiles(config.package_cache_hosts)

    def knows(self, host: str, port: int) -> bool:
        """Returns whether requests to this host may be for package files that can be cached. The proxy must
        then read the requests.
        """
        return self._store is not None and self._files.knows(host, port)

    def wanted(self, asked: Asked, way: AllowedRoute, scheme: Scheme, held: Held | None) -> "Wanted | None":
        """Returns the cache entry for a request of a package file that can be cached. Returns None for other
        requests. `held`: the credential that is added to the request; None if none is added.
        """
        target, path = way.target, asked.path or ""
        if self._store is None or not self._files.holds(target.host, target.port, path):
            return None
        if not is_plain(asked, held.header if held else None) or wants_none_kept(asked):
            return None
        # The name contains the credential, so a file that was fetched with a credential is found only with
        # the same one.
        name = f"{scheme}://{target.host}:{target.port}{path} {held.id if held else ''}"
        return Wanted(self._store, asked, way, name)


@dataclass(frozen=True)
class Wanted:
    """A package file that a sandbox requests. name: the file's key in the store."""

    _store: PackageStore
    _asked: Asked
    _way: AllowedRoute
    _name: str

    async def serve(self, client: ClientSide) -> bool:
        """Sends the package file from the store. Raises OSError, Malformed.

        Returns False if the file is not stored, or if the program requires a fresh reply.
        """
        if wants_new(self._asked):
            return False
        kept = await self._store.find(self._way.target.user_id, self._name)
        if kept is None:
            return False
        try:
            await _send(client, kept)
        finally:
            kept.close()
        return True

    def keeper(self) -> "CacheWriter":
        return CacheWriter(self._store, self._way, self._name)


class CacheWriter:
    """Stores a reply in the package cache while the reply is forwarded. A failure to store does not disturb
    the reply.
    """

    def __init__(self, store: PackageStore, way: AllowedRoute, name: str) -> None:
        self._store = store
        self._way = way
        self._name = name
        self._draft: Draft | None = None

    async def begin(self, response: h11.Response) -> None:
        seconds, length = seconds_kept(response), length_of(response)
        if seconds is None or length is None:
            return
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in response.headers
            if name in _KEPT_HEADERS
        ]
        try:
            user_id = self._way.target.user_id
            self._draft = await self._store.draft(user_id, self._name, headers, length, seconds)
        except OSError as error:
            self._complain(error)

    async def feed(self, piece: bytes) -> None:
        if self._draft is None:
            return
        try:
            await self._draft.write(piece)
        except OSError as error:
            self._complain(error)
            await self.drop()

    async def finish(self) -> None:
        if self._draft is None:
            return
        try:
            await self._draft.keep()
        except OSError as error:
            self._complain(error)
            await self.drop()

    async def drop(self) -> None:
        """Deletes the stored file if it is not complete."""
        draft, self._draft = self._draft, None
        if draft is None:
            return
        try:
            await draft.drop()
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        logger.warning("a package could not be kept: %s", error)


async def _send(client: ClientSide, kept: Kept) -> None:
    async for _ in client.body():
        pass
    headers = [*kept.headers, ("Content-Length", str(kept.length)), (CACHE_HEADER, "hit")]
    await client.send(h11.Response(status_code=200, headers=headers, reason=b"OK"))
    async for piece in kept.pieces():
        await client.send(h11.Data(data=piece))
    await client.send(h11.EndOfMessage())
