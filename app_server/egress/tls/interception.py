"""Decrypts TLS connections of sandboxes at the egress proxy, and sends the decrypted requests to the real
host.

TLS is decrypted for four kinds of hosts. First, hosts with a credential: the proxy adds the credential to the
requests. Second, hosts that may receive the values of secret variables: the sandbox has only placeholders,
and the proxy replaces them by the values in the headers. Third, git hosts of the user: the proxy checks the
requests. Fourth, package hosts: the proxy caches files.

The proxy calls the real host only over TLS and verifies its certificate. The proxy does not follow redirects.
If the program in the sandbox follows a redirect, its request to the new host gets only a credential that is
stored for the new host.
"""

import asyncio
import logging
import ssl
import time
from dataclasses import replace
from uuid import UUID

from agent_runtime.time_limits import time_limit
from app_server.core.database import Database
from app_server.egress import refusal_replies
from app_server.egress.client_connection import ClientSide, Malformed, ProxyRequest, of_host
from app_server.egress.credentials.credentials import Held, note_use
from app_server.egress.credentials.exchange import Exchange
from app_server.egress.egress_log import EgressLog, EgressTarget
from app_server.egress.forwarding import Broken, Changes, pass_on
from app_server.egress.package_cache.cache import PackageCache, Wanted
from app_server.egress.pinned_connector import PinnedConnection, Refused, Tls
from app_server.egress.policy import Reason
from app_server.egress.policy_decision import AllowedRoute, PolicyDecisions
from app_server.egress.tls.authority import Authority
from app_server.egress.tls.connection import TlsSide
from app_server.egress.tunnel import Traffic, close
from app_server.http.response_redaction import ResponseRedaction
from app_server.sandbox_records.models import Sandbox

logger = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 60.0
TLS_PORT = 443
DISTRUST_SECONDS = 600.0
"""The time in seconds during which the proxy does not decrypt TLS to a package host after a TLS handshake
between the sandbox and the proxy has failed.
"""

_MAX_DISTRUSTED = 10_000

_NO_TLS = frozenset(("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "BAD_RECORD_TYPE"))
# These headers are not passed on. A credential that a host repeats could not be found in a compressed reply
# or in a part of a reply. The last two headers make some hosts serve another path than the requested one.
_NOT_WITH_CREDENTIALS = frozenset(
    (b"accept-encoding", b"range", b"if-range", b"x-original-url", b"x-rewrite-url")
)


class TlsInterception:
    """The component of the egress proxy that serves tunnels with decrypted TLS. There is one object for each
    process.

    outside: the TLS context that verifies the certificates of real hosts. None means a context with the
    certificate authorities of this machine. This context is loaded when it is first needed, because loading
    it takes 50 ms.
    """

    def __init__(
        self,
        database: Database,
        egress_log: EgressLog,
        decisions: PolicyDecisions,
        authority: Authority,
        packages: PackageCache,
        outside: ssl.SSLContext | None = None,
    ) -> None:
        self._database = database
        self._egress_log = egress_log
        self._decisions = decisions
        self._authority = authority
        self._packages = packages
        self._distrusted: dict[tuple[UUID, str], float] = {}
        self._outside = outside

    def reads(self, way: AllowedRoute) -> bool:
        """Returns whether the egress proxy decrypts the TLS of a tunnel to this host. `way`: the route of a
        sandbox to the host.

        Some hosts are decrypted only for the package cache. If a program in the sandbox does not trust the
        proxy's certificate, its connection to such a host fails. After such a failure, the host is not
        decrypted for this sandbox during DISTRUST_SECONDS. So the program reaches the host when it tries
        again.
        """
        until = self._distrusted.get((way.target.sandbox_id, way.target.host), 0.0)
        return way.must_be_read or (way.has_packages and until <= time.monotonic())

    async def serve(self, line: PinnedConnection, early: bytes, way: AllowedRoute, sandbox: Sandbox) -> None:
        """Does the TLS handshake with the program in the sandbox, and then serves the requests in the tunnel
        until it ends. If the handshake fails, only records the failure. Raises OSError if a connection is
        lost. Raises TimeoutError if the program or the host takes too long.

        line: the connection to the program. early: the data that the program has already sent in the tunnel.
        way: the checked route to the host that the program asked for.
        """
        tls = TlsSide(line, self._authority.context_for(way.target.host), early)
        try:
            async with time_limit(HANDSHAKE_SECONDS):
                await tls.shake_hands()
        except ssl.SSLError as error:
            reason = Reason.NOT_TLS if error.reason in _NO_TLS else Reason.NOT_TRUSTED
            self._note_distrust(way.target)
            await self._egress_log.note(way.target, reason)
            return
        client = ClientSide(tls, tls, of_host(way.target.host, way.target.port))
        try:
            await self._converse(client, way.target, sandbox)
        except Malformed:
            await client.refuse(refusal_replies.MALFORMED)
        except Broken:
            await client.refuse(refusal_replies.BROKEN)
        await tls.end()

    async def _converse(self, client: ClientSide, target: EgressTarget, sandbox: Sandbox) -> None:
        while asked := await client.next_request():
            if await self._decisions.again(sandbox) is None:
                return await client.refuse(refusal_replies.NOT_A_SANDBOX)
            await self._pass(client, asked, replace(target, client=asked.client or target.client))
        return None

    async def _pass(self, client: ClientSide, asked: ProxyRequest, target: EgressTarget) -> None:
        traffic = Traffic()
        try:
            way = await self._decisions.way(target, target.host)
            exchanged, held = way.exchange(asked), way.held_for(asked)
            if held and held.header.encode() in exchanged.names:
                held = None  # the program has sent a placeholder, so no other credential is added
            way.check(asked, {*exchanged.names, *([held.header.encode()] if held else [])})
            if (held or exchanged.names) and asked.request.method.upper() == b"TRACE":
                return await client.refuse(refusal_replies.NO_TRACE)
            wanted = None if exchanged.names else self._packages.wanted(asked, way, "https", held)
            if wanted and await wanted.serve(client):
                await self._egress_log.note(target)
                return None
            if self._outside is None:
                self._outside = await asyncio.to_thread(outside_context)
            world = await way.connect(Tls(target.host, self._outside))
        except Refused as refused:
            await self._egress_log.note(target, refused.reason)
            return await client.refuse(refusal_replies.answer_to(refused.reason, target.host, target.port))
        try:
            await self._egress_log.note(target)
            if held:
                await note_use(self._database, held, target, asked.request.method.decode(), asked.path or "")
            await pass_on(client, asked, world, traffic, _changes(held, exchanged, wanted))
        finally:
            await close(world)
            await self._egress_log.note(
                target, count=0, bytes_sent=traffic.sent, bytes_received=traffic.received
            )
        return None

    def _note_distrust(self, target: EgressTarget) -> None:
        if len(self._distrusted) >= _MAX_DISTRUSTED:
            self._distrusted.clear()
        self._distrusted[target.sandbox_id, target.host] = time.monotonic() + DISTRUST_SECONDS


def outside_context() -> ssl.SSLContext:
    """Returns a TLS context that verifies the certificates of hosts. It trusts the certificate authorities of
    this machine and those of the package certifi.
    """
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _changes(held: Held | None, exchanged: Exchange, wanted: Wanted | None) -> Changes:
    cache_writer = wanted.cache_writer() if wanted else None
    added = [*exchanged.headers, *([(held.header.encode(), held.content.encode())] if held else [])]
    if not added:
        return Changes(default_port=TLS_PORT, cache_writer=cache_writer)
    return Changes(
        default_port=TLS_PORT,
        dropped=_NOT_WITH_CREDENTIALS | {name for name, _ in added},
        added=[*added, (b"accept-encoding", b"identity")],
        redaction=ResponseRedaction([*exchanged.secrets, *(held.secrets if held else ())]),
        cache_writer=cache_writer,
    )
