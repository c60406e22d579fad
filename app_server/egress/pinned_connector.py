"""Looks up the addresses of a host once, checks them, and connects to one of the checked addresses. The
connection does not look up the name again, because the second result could contain a forbidden address.

If an upstream proxy (an outgoing proxy of the server's network) is used, connects through this proxy, which
also resolves the name.
"""

import asyncio
import re
import ssl
from dataclasses import dataclass

from agent_runtime.time_limits import time_limit
from app_server.core.addresses import Named, is_address, is_refused
from app_server.egress.policy import Reason
from app_server.http.guarded_client import RESOLVE_SECONDS, Resolver
from app_server.http.outgoing_proxy import UpstreamProxy

CONNECT_SECONDS = 15.0
MAX_ADDRESSES = 4
_OPENED = re.compile(rb"HTTP/1\.[01] 2\d\d\b")


class Refused(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class PinnedConnection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def addresses_of(host: str, resolve: Resolver, named: Named) -> list[str]:
    """Looks up the IP addresses of the host with `resolve`, and returns at most MAX_ADDRESSES of them.

    named: the private addresses and hosts that an administrator has allowed; all other private addresses are
    refused. Raises Refused `unknown_host` if no address is found. Raises Refused `private_address` if one of
    the addresses is not allowed. The host is refused even if its other addresses are allowed, because a name
    with both allowed and forbidden addresses may be an attack.
    """
    try:
        async with time_limit(RESOLVE_SECONDS):
            found = [host] if is_address(host) else await resolve(host)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise Refused(Reason.UNKNOWN_HOST) from error
    if not found:
        raise Refused(Reason.UNKNOWN_HOST)
    if any(is_refused(host, address, named) for address in found):
        raise Refused(Reason.PRIVATE_ADDRESS)
    return found[:MAX_ADDRESSES]


@dataclass(frozen=True)
class Tls:
    """The TLS settings of a connection to a host. `name`: the host name that the certificate must contain.
    `context`: verifies the certificate.
    """

    name: str
    context: ssl.SSLContext


async def connect(
    addresses: list[str], port: int, tls: Tls | None = None, tunnel: "ProxyTunnel | None" = None
) -> PinnedConnection:
    """Connects to the first of the addresses that accepts a connection. If `tunnel` is given, connects
    through this tunnel instead.

    tls: None means a connection without TLS. Raises Refused `unreachable` if no address accepts a connection.
    Raises Refused `bad_certificate` if the host's certificate is not valid. Raises Refused `upstream_refused`
    if the upstream proxy (an outgoing proxy of the server's network) does not allow the tunnel.
    """
    if tunnel:
        return await _through(tunnel, port, tls)
    for address in addresses:
        try:
            async with time_limit(CONNECT_SECONDS):
                return PinnedConnection(
                    *await asyncio.open_connection(
                        address,
                        port,
                        ssl=tls.context if tls else None,
                        server_hostname=tls.name if tls else None,
                    )
                )
        except ssl.SSLCertVerificationError as error:
            raise Refused(Reason.BAD_CERTIFICATE) from error
        except (OSError, TimeoutError):
            continue
    raise Refused(Reason.UNREACHABLE)


@dataclass(frozen=True)
class ProxyTunnel:
    """The settings of a tunnel to `host` through an upstream proxy (an outgoing proxy of the server's
    network), which resolves the name of the host.
    """

    proxy: UpstreamProxy
    host: str


async def _through(tunnel: ProxyTunnel, port: int, tls: Tls | None) -> PinnedConnection:
    """Connects to the host of the tunnel through the tunnel's upstream proxy (an outgoing proxy of the
    server's network). tls: None means a connection without TLS.

    Raises Refused `unreachable` if the proxy or the host cannot be reached. Raises Refused `bad_certificate`
    if the host's certificate is not valid. Raises Refused `upstream_refused` if the upstream proxy does not
    allow the tunnel.
    """
    line = await connect_to_proxy(tunnel.proxy)
    host = f"[{tunnel.host}]" if ":" in tunnel.host else tunnel.host
    credentials = tunnel.proxy.authorization
    lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
    lines += [f"Proxy-Authorization: {credentials}"] if credentials else []
    try:
        async with time_limit(CONNECT_SECONDS):
            line.writer.write("\r\n".join([*lines, "", ""]).encode())
            head = await line.reader.readuntil(b"\r\n\r\n")
            is_open = _OPENED.match(head) is not None
            if is_open and tls:
                await line.writer.start_tls(tls.context, server_hostname=tls.name)
    except ssl.SSLCertVerificationError as error:
        line.writer.close()
        raise Refused(Reason.BAD_CERTIFICATE) from error
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        line.writer.close()
        raise Refused(Reason.UNREACHABLE) from error
    if not is_open:
        line.writer.close()
        raise Refused(Reason.UPSTREAM_REFUSED)
    return line


async def connect_to_proxy(proxy: UpstreamProxy) -> PinnedConnection:
    """Opens a connection to an upstream proxy (an outgoing proxy of the server's network). Raises Refused
    `unreachable` if this fails.
    """
    try:
        async with time_limit(CONNECT_SECONDS):
            return PinnedConnection(*await asyncio.open_connection(proxy.host, proxy.port))
    except (OSError, TimeoutError) as error:
        raise Refused(Reason.UNREACHABLE) from error
