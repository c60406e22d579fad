"""The egress proxy: the HTTP proxy through which sandboxes reach the network. It checks each request by its
host name, connects to an address that was checked, and records the request.

A program in a sandbox asks the proxy for a tunnel (CONNECT) or sends a plain HTTP request. The proxy
recognises the sandbox by its session key, a secret of the sandbox. The agent server adds this key to the
request, so the commands that the agent runs do not know the key.
"""

import asyncio
import ssl
from collections.abc import Awaitable
from dataclasses import replace

from agent_runtime.time_limits import time_limit
from app_server.core.addresses import BadHost, is_address, parse_host
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import Unavailable
from app_server.egress import refusal_replies
from app_server.egress.client_connection import PIECE_BYTES, ClientSide, Malformed, ProxyRequest, of_host
from app_server.egress.egress_log import EgressLog, EgressTarget
from app_server.egress.forwarding import Broken, Changes, pass_on
from app_server.egress.open_connections import ConnectionSlot, OpenConnections
from app_server.egress.package_cache.cache import PackageCache
from app_server.egress.pinned_connector import PinnedConnection, Refused, connect_to_proxy
from app_server.egress.policy import Reason
from app_server.egress.policy_decision import AllowedRoute, PolicyDecisions, RepositoriesOf
from app_server.egress.tls.authority import Authority
from app_server.egress.tls.client_hello import HANDSHAKE_RECORD, NotTls, read_hello
from app_server.egress.tls.interception import TLS_PORT, TlsInterception
from app_server.egress.tunnel import Traffic, close, join
from app_server.http.connection_limits import HEAD_SECONDS
from app_server.http.guarded_client import Resolver, system_resolver
from app_server.http.outgoing_proxy import Upstream
from app_server.sandbox_records.models import Sandbox

HELLO_SECONDS = 60.0
PLAIN_PORT = 80


class EgressProxy:
    """The proxy through which sandboxes reach the network. There is one EgressProxy for each process of the
    app server.

    repositories_of: a function that returns the repositories of the conversations in a sandbox. resolve: a
    function that looks up the addresses of a host name. outside: the TLS context that verifies the
    certificates of real hosts; None means a context with the certificate authorities of this machine.
    upstream: the outgoing proxies of this server's network; None means none. head_seconds: the time limit in
    seconds for the head of the first request of a connection.
    """

    def __init__(
        self,
        config: Config,
        database: Database,
        cipher: Cipher,
        authority: Authority,
        egress_log: EgressLog,
        repositories_of: RepositoriesOf,
        resolve: Resolver = system_resolver,
        outside: ssl.SSLContext | None = None,
        upstream: Upstream | None = None,
        head_seconds: float = HEAD_SECONDS,
    ) -> None:
        self._egress_log = egress_log
        self._head_seconds = head_seconds
        self.packages = PackageCache(config)
        self._decisions = PolicyDecisions(
            config, database, cipher, repositories_of, resolve, upstream or Upstream(), self.packages.knows
        )
        self._interception = TlsInterception(
            database, egress_log, self._decisions, authority, self.packages, outside
        )
        self._open = OpenConnections()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection of a sandbox to the proxy until the connection ends."""
        line = PinnedConnection(reader, writer)
        try:
            await self._answer(line, ClientSide(reader, writer, head_seconds=self._head_seconds))
        except (OSError, TimeoutError):
            return  # the connection has ended, so no reply can be sent
        finally:
            await close(line)

    async def end_forbidden(self) -> None:
        """Closes open connections to hosts that the sandbox may no longer call, for example because a setting
        was changed. A background job calls this method repeatedly.
        """
        for sandbox_id, targets in self._open.targets().items():
            self._open.end(sandbox_id, await self._decisions.ended(sandbox_id, targets))

    async def _answer(self, line: PinnedConnection, client: ClientSide) -> None:
        try:
            await self._converse(line, client)
        except Malformed:
            await client.refuse(refusal_replies.MALFORMED)
        except Broken:
            await client.refuse(refusal_replies.BROKEN)

    async def _converse(self, line: PinnedConnection, client: ClientSide) -> None:
        sandbox: Sandbox | None = None
        while asked := await client.next_request():
            # The relay adds the key only to the first request of a connection. The connection may last longer
            # than the key.
            key = _key_of(asked)
            try:
                sandbox = await (self._decisions.sandbox(key) if key else self._decisions.again(sandbox))
            except Unavailable:
                return await client.refuse(refusal_replies.KEY_EXPIRED)
            if sandbox is None:
                return await client.refuse(refusal_replies.NOT_A_SANDBOX)
            with self._open.slot(sandbox.id) as slot:
                if slot is None:
                    return await client.refuse(refusal_replies.TOO_MANY)
                if asked.path is None:
                    return await self._connect(line, client, asked, sandbox, slot)
                if not await self._pass(client, asked, sandbox, slot):
                    return None
        return None

    async def _connect(
        self,
        line: PinnedConnection,
        client: ClientSide,
        asked: ProxyRequest,
        sandbox: Sandbox,
        slot: ConnectionSlot,
    ) -> None:
        way = await self._admit(client, asked, sandbox, slot)
        if way is None:
            return None
        if asked.port == PLAIN_PORT or self._interception.reads(way):
            early = await client.open_tunnel()
            return await self._speak(line, early, way, sandbox, slot)
        world = await self._await_connection(client, way, way.connect())
        if world is None:
            return None
        traffic = Traffic()
        try:
            await self._egress_log.note(way.target)
            early = await client.open_tunnel()
            await self._tunnel(line, early, way.target, world, traffic)
        finally:
            await self._ended(way.target, world, traffic)

    async def _speak(
        self, line: PinnedConnection, early: bytes, way: AllowedRoute, sandbox: Sandbox, slot: ConnectionSlot
    ) -> None:
        """Serves the requests in a tunnel. The proxy reads each request, and does not only copy the bytes of
        the tunnel.

        On port 80, the requests are plain HTTP. On port 443, they must be inside TLS, which the proxy
        decrypts. On other ports, they must be inside TLS if the proxy has a credential for the host;
        otherwise TLS and plain HTTP are allowed.

        line: the connection to the program in the sandbox. early: the data that the program has already sent
        in the tunnel. way: the checked route to the host. slot: the record of this connection among the open
        connections of the sandbox. Raises TimeoutError if no data arrives.
        """
        if way.target.port != PLAIN_PORT:
            async with time_limit(HELLO_SECONDS):
                early = early or await line.reader.read(PIECE_BYTES)
            if way.held or way.target.port == TLS_PORT or early.startswith(HANDSHAKE_RECORD):
                return await self._interception.serve(line, early, way, sandbox)
        return await self._speak_plainly(line, early, way, sandbox, slot)

    async def _speak_plainly(
        self, line: PinnedConnection, early: bytes, way: AllowedRoute, sandbox: Sandbox, slot: ConnectionSlot
    ) -> None:
        """Serves a tunnel with plain HTTP requests. All requests go to the host that was checked when the
        tunnel was opened, even if they name another host. line: the connection to the program in the
        sandbox. early: the data that the program has already sent in the tunnel. way: the checked route to
        the host. slot: the record of this connection among the open connections of the sandbox.
        """
        inside = ClientSide(
            _Begun(early, line.reader), line.writer, of_host(way.target.host, way.target.port)
        )
        try:
            while asked := await inside.next_request():
                if await self._decisions.again(sandbox) is None:
                    return await inside.refuse(refusal_replies.NOT_A_SANDBOX)
                if not await self._pass(inside, asked, sandbox, slot):
                    return None
        except Malformed:
            await inside.refuse(refusal_replies.NOT_HTTP)
        except Broken:
            await inside.refuse(refusal_replies.BROKEN)
        return None

    async def _pass(
        self, client: ClientSide, asked: ProxyRequest, sandbox: Sandbox, slot: ConnectionSlot
    ) -> bool:
        """Sends one plain HTTP request to the called host, and the reply to the program in the sandbox. If
        the package cache contains the requested package file, serves the file from there instead.

        slot: the record of this connection among the open connections of the sandbox. Returns False if the
        request was refused. Then the connection must be closed. Returns True if another request may follow on
        the connection.
        """
        way = await self._admit(client, asked, sandbox, slot)
        if way is None:
            return False
        wanted = self.packages.wanted(asked, way, "http", None)
        if wanted and await wanted.serve(client):
            await self._egress_log.note(way.target)
            return True
        # Upstream proxies accept plain HTTP requests directly. Most of them do not allow a tunnel to port 80.
        connecting = connect_to_proxy(way.proxy) if way.proxy else way.connect()
        world = await self._await_connection(client, way, connecting)
        if world is None:
            return False
        traffic = Traffic()
        try:
            await self._egress_log.note(way.target)
            changes = Changes(proxy=way.proxy, cache_writer=wanted.cache_writer() if wanted else None)
            await pass_on(client, replace(asked, host=way.target.host), world, traffic, changes)
        finally:
            await self._ended(way.target, world, traffic)
        return True

    async def _admit(
        self, client: ClientSide, asked: ProxyRequest, sandbox: Sandbox, slot: ConnectionSlot
    ) -> AllowedRoute | None:
        target = EgressTarget(
            sandbox.id, sandbox.user_id, _printable_host(asked.host), asked.port, asked.client
        )
        try:
            way = await self._decisions.way(target, asked.host, "http" if asked.path else "https")
            if asked.path is not None:
                way.check(asked)
        except Refused as refused:
            await self._refuse(client, target, refused.reason)
            return None
        slot.target = way.target
        return way

    async def _await_connection(
        self, client: ClientSide, way: AllowedRoute, connecting: Awaitable[PinnedConnection]
    ) -> PinnedConnection | None:
        try:
            return await connecting
        except Refused as refused:
            await self._refuse(client, way.target, refused.reason)
            return None

    async def _refuse(self, client: ClientSide, target: EgressTarget, reason: Reason) -> None:
        await self._egress_log.note(target, reason)
        await client.refuse(refusal_replies.answer_to(reason, target.host, target.port))

    async def _ended(self, target: EgressTarget, world: PinnedConnection, traffic: Traffic) -> None:
        await close(world)
        await self._egress_log.note(target, count=0, bytes_sent=traffic.sent, bytes_received=traffic.received)

    async def _tunnel(
        self,
        line: PinnedConnection,
        early: bytes,
        target: EgressTarget,
        world: PinnedConnection,
        traffic: Traffic,
    ) -> None:
        try:
            await join(line, world, traffic, lambda: _first_words(line, target, early))
        except _Disguised as disguise:
            line.writer.write(disguise.alert)
            await self._egress_log.note(target, disguise.reason)


class _Begun:
    """A stream reader for a connection from which some data was already read. It first returns this data
    (`early`), and then the data that arrives later. So the user of the reader gets all data of the
    connection.
    """

    def __init__(self, early: bytes, reader: asyncio.StreamReader) -> None:
        self._early = early
        self._reader = reader

    async def read(self, size: int, /) -> bytes:
        early, self._early = self._early, b""
        return early or await self._reader.read(size)


class _Disguised(Exception):
    """The error that is raised when the first data that a program sends in a tunnel is not allowed. Either
    the data is TLS for another host than the host of the tunnel, or it is not TLS although TLS is required.

    reason: why the tunnel is refused. alert: the TLS message that tells the program in the sandbox about the
    refusal; empty if the data is not TLS.
    """

    def __init__(self, reason: Reason, alert: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.alert = alert


async def _first_words(sandbox: PinnedConnection, target: EgressTarget, early: bytes) -> bytes:
    """Reads and returns the first data that a program in a sandbox sends in a tunnel. Checks that the data is
    for the host of the tunnel, because the program could otherwise reach a forbidden host. Raises _Disguised
    if the check fails.

    In a TLS connection, the program's first message must name the host in `target`. If `target` is an IP
    address, the message must name no host. On port 443 the data must be TLS. On other ports, data that is not
    TLS is not checked.

    `sandbox`: the connection to the program in the sandbox. `target`: the host and port of the tunnel.
    `early`: data that was already read from the tunnel. Raises TimeoutError if the data does not arrive in
    time on port 443.
    """
    async with time_limit(HELLO_SECONDS if target.port == TLS_PORT else None):
        begun = early or await sandbox.reader.read(PIECE_BYTES)
        if target.port != TLS_PORT and not begun.startswith(HANDSHAKE_RECORD):
            return begun
        try:
            hello = await read_hello(lambda: sandbox.reader.read(PIECE_BYTES), begun)
        except NotTls as error:
            raise _Disguised(Reason.NOT_TLS) from error
    wanted = "" if is_address(target.host) else target.host
    if (hello.server_name or "").lower().removesuffix(".") != wanted:
        raise _Disguised(Reason.OTHER_NAME, hello.alert)
    return hello.content


def _key_of(asked: ProxyRequest) -> str:
    scheme, _, key = asked.header("proxy-authorization").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _printable_host(host: str) -> str:
    """Returns the host name that a program in a sandbox wrote, in a form that can be stored and displayed. A
    valid name is returned as `parse_host` returns it. From a name that is not valid, unprintable characters
    are removed, and only the first 100 other characters are returned.
    """
    try:
        return parse_host(host)
    except BadHost:
        return "".join(one for one in host if one.isprintable())[:100]
