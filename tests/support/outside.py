"""A fake internet on loopback: web sites with certificates of a test authority, and a DNS whose answers a
test chooses.
"""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from random import randrange

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NEIGHBOUR = "127.0.0.2"
"""A loopback address that programs treat as another machine, because `no_proxy` names only 127.0.0.1."""

Handler = Callable[[str, str], tuple[int, dict[str, str], bytes]]
"""Answers a request: takes its host and path, returns status, headers and body."""


class Authority:
    """A certificate authority. Clients that trust the certificate in `file` accept its certificates."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of tests")])
        self._certificate = self._sign(self._name, self._key, [], is_authority=True)
        self.file = directory / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def context(self, *names: str) -> ssl.SSLContext:
        """Returns a server-side TLS context with a new certificate for these names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = self._sign(subject, key, names)
        path = self._directory / f"{names[0].replace('*', '_')}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        names: tuple[str, ...] | list[str],
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        moment = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(moment - dt.timedelta(days=1))
            .not_valid_after(moment + dt.timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if names:
            alternatives = x509.SubjectAlternativeName([_general(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        return builder.sign(self._key, hashes.SHA256())


@dataclass
class Site:
    """What a web site has received. `seen`: method, host and path of each request.

    `headers`: the headers of each request, with names in lower case. `connections`: the number of
    connections.
    """

    port: int = 0
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: int = 0


@dataclass
class Dns:
    """A DNS resolver. `answers`: for each name, the lists of addresses that it returns one after the other.

    The last list is returned again and again. `asked`: the names that were resolved.
    """

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, name: str) -> list[str]:
        self.asked.append(name)
        if name not in self.answers:
            raise OSError(f"{name} is not known")
        turns = self.answers[name]
        return turns.pop(0) if len(turns) > 1 else turns[0]


def says(body: str, status: int = 200, **headers: str) -> Handler:
    return lambda _host, _path: (status, headers, body.encode())


@asynccontextmanager
async def site(
    handler: Handler, *, tls: ssl.SSLContext | None = None, address: str = NEIGHBOUR, port: int = 0
) -> AsyncIterator[Site]:
    """Runs a web site and yields what it receives. It handles the requests of a connection one after the
    other.

    tls: None for plain HTTP. port: 0 for any free port.
    """
    found = Site()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        try:
            while request := await _read_request(reader):
                method, path, sent = request
                host = sent.get("host", "")
                found.seen.append((method, host, path))
                found.headers.append(sent)
                status, headers, body = handler(host, path)
                await _reply(writer, status, headers, b"" if method == "HEAD" else body, len(body))
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, address, port, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]] | None:
    """Returns method, path and headers of the next request, with header names in lower case.

    Returns None if the client closed the connection.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
    await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = line.split(" ")
    return method, path, headers


async def _reply(
    writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: bytes, length: int
) -> None:
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode() + body)
    await writer.drain()


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def own_address() -> str:
    """Returns a random loopback address, on which no other program listens."""
    return f"127.{randrange(1, 255)}.{randrange(1, 255)}.{randrange(1, 255)}"  # noqa: S311
