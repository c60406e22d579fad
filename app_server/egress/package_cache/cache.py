"""Caches the package files, such as Python wheels, that sandboxes download. All sandboxes of one user share
one cache on the app server's disk.

The app server itself sets the headers of the requests to package hosts. So one sandbox cannot influence the
file that another sandbox gets. The network policy is checked before a file is served from the cache.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import h11

from app_server.core.config import Config
from app_server.egress.client_connection import ClientSide, ProxyRequest
from app_server.egress.credentials.credentials import Held
from app_server.egress.package_cache.files import (
    PackageFiles,
    cacheable_seconds,
    forbids_caching,
    is_plain,
    length_of,
    wants_new,
)
from app_server.egress.package_cache.store import Draft, PackageStore, StoredReply
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
"""The headers that the app server sends to a package host in place of the program's headers. In addition, the
app server sends only the Host header, a credential of the user if there is one, and the headers that
control the connection.
"""

_STORED_HEADERS = frozenset((b"content-type", b"etag", b"last-modified"))


class PackageCache:
    """The cache of package files of all users. There is one PackageCache for each process. If the size limit
    `package_cache_bytes` is 0, nothing is cached.
    """

    def __init__(self, config: Config) -> None:
        self._store = (
            PackageStore(Path(config.home) / FOLDER, config.package_cache_bytes)
            if config.package_cache_bytes
            else None
        )
        self._files = PackageFiles(config.package_cache_hosts)

    def knows(self, host: str, port: int) -> bool:
        """Returns whether the cache is in use and this host and port serve package files that can be cached.
        The egress proxy decrypts connections to such a host, because it must know which file is requested.
        """
        return self._store is not None and self._files.knows(host, port)

    def wanted(
        self, asked: ProxyRequest, way: AllowedRoute, scheme: Scheme, held: Held | None
    ) -> "Wanted | None":
        """Returns an object that serves the requested package file from the cache, or stores the host's reply
        in the cache. Returns None if the reply must not be cached. This is so if the cache is not in use, or
        if the request is not a GET request for a package file, forbids caching, or has headers that could
        change the reply.

        way: the route to the package host. held: the credential that the egress proxy adds to the request;
        None if there is none. A file that was fetched with a credential is served only to requests with the
        same credential.
        """
        target, path = way.target, asked.path or ""
        if self._store is None or not self._files.holds(target.host, target.port, path):
            return None
        if not is_plain(asked, held.header if held else None) or forbids_caching(asked):
            return None
        # The name contains the credential, so a file that was fetched with a credential is found only with
        # the same one.
        name = f"{scheme}://{target.host}:{target.port}{path} {held.id if held else ''}"
        return Wanted(self._store, asked, way, name)


@dataclass(frozen=True)
class Wanted:
    """A request of a sandbox for a package file that can be cached. Its methods send the file from the cache
    to the sandbox, or create the writer that stores the host's reply. `_name`: the key of the file in the
    cache.
    """

    _store: PackageStore
    _request: ProxyRequest
    _way: AllowedRoute
    _name: str

    async def serve(self, client: ClientSide) -> bool:
        """Sends the package file from the cache to the program in the sandbox and returns True.

        Returns False and sends nothing if the file is not in the cache, or if the program requires a new
        reply from the host. Raises OSError if the file cannot be read or the connection is lost. Raises
        Malformed if the program sends invalid data.
        """
        if wants_new(self._request):
            return False
        stored = await self._store.find(self._way.target.user_id, self._name)
        if stored is None:
            return False
        try:
            await _send(client, stored)
        finally:
            stored.close()
        return True

    def cache_writer(self) -> "CacheWriter":
        return CacheWriter(self._store, self._way, self._name)


class CacheWriter:
    """A writer that stores a reply of a package host in the cache while the reply is sent to the sandbox. If
    the reply cannot be stored, a warning is logged and the sandbox still gets the reply.
    """

    def __init__(self, store: PackageStore, way: AllowedRoute, name: str) -> None:
        self._store = store
        self._way = way
        self._name = name
        self._draft: Draft | None = None

    async def begin(self, response: h11.Response) -> None:
        seconds, length = cacheable_seconds(response), length_of(response)
        if seconds is None or length is None:
            return
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in response.headers
            if name in _STORED_HEADERS
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
        """Deletes the file that is being written. Does nothing if the file is already complete."""
        draft, self._draft = self._draft, None
        if draft is None:
            return
        try:
            await draft.drop()
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        logger.warning("a package could not be kept: %s", error)


async def _send(client: ClientSide, stored: StoredReply) -> None:
    async for _ in client.body():
        pass
    headers = [*stored.headers, ("Content-Length", str(stored.length)), (CACHE_HEADER, "hit")]
    await client.send(h11.Response(status_code=200, headers=headers, reason=b"OK"))
    async for piece in stored.pieces():
        await client.send(h11.Data(data=piece))
    await client.send(h11.EndOfMessage())
