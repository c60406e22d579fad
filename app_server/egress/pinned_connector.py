"""Connects to a requested host at exactly the address that the policy has checked."""

import asyncio
import re
import ssl
from dataclasses import dataclass

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
    """Returns the IP addresses of the host, which `resolve` looks up.

    If one of the addresses is not allowed, all are refused, because only an attacker gives one name both
    allowed and forbidden addresses. Raises Refused.
    """
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
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
    """The TLS settings of a connection to a host: the name that the certificate must contain, and the context
    that verifies the certificate.
    """

    name: str
    context: ssl.SSLContext


async def connect(
    addresses: list[str], port: int, tls: Tls | None = None, tunnel: "ProxyTunnel | None" = None
) -> PinnedConnection:
    """Connects to the first of the addresses that answers, or through the tunnel.

    Raises Refused `unreachable`, `bad_certificate`, and with a tunnel `upstream_refused`.
    """
    if tunnel:
        return await _through(tunnel, port, tls)
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
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
    """A tunnel to a host through an upstream proxy. The proxy resolves the name of the host."""

    proxy: UpstreamProxy
    host: str


async def _through(tunnel: ProxyTunnel, port: int, tls: Tls | None) -> PinnedConnection:
    """Connects to the host through the tunnel. Raises Refused `unreachable`, `upstream_refused`,
    `bad_certificate`.
    """
    line = await connect_to_proxy(tunnel.proxy)
    host = f"[{tunnel.host}]" if ":" in tunnel.host else tunnel.host
    credentials = tunnel.proxy.authorization
    lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
    lines += [f"Proxy-Authorization: {credentials}"] if credentials else []
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
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
    """Connects to an upstream proxy. Raises Refused `unreachable`."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return PinnedConnection(*await asyncio.open_connection(proxy.host, proxy.port))
    except (OSError, TimeoutError) as error:
        raise Refused(Reason.UNREACHABLE) from error
