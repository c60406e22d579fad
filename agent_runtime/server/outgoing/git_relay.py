"""A relay on loopback through which git commands reach the app server's git proxy, and programs reach its
model gateway (which forwards requests to models).

The relay adds the session key of this server, which the app server requires and commands must not know. The
model gateway also requires a second key, which identifies the program that sends the request; the relay
forwards this second key. Each connection carries one request. The relay rewrites the headers of the request,
and masks secrets in prompts that a program sends to a model. All other bytes are forwarded unchanged, in both
directions.
"""

import asyncio
import logging
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent_runtime.server.outgoing.prompt_masking import PromptMasking
from agent_runtime.server.outgoing.request_body import (
    MAX_BYTES,
    BodyTooLargeError,
    UnreadableBodyError,
    read_body,
)
from agent_runtime.time_limits import time_limit
from agent_runtime.wire import API_KEY_HEADER, GIT_RELAY_HEADER, PROGRAM_KEY_HEADER
from agent_runtime.workspace.network import listen

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
PROXY_PATH = "/git"
MODELS_PATH = "/programs"
MAX_CONNECTIONS = 32
MAX_HEAD_BYTES = 32 * 1024
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 15.0
_PIECE_BYTES = 64 * 1024
_WEBHOOKS = "/api/v1/webhooks"

_REQUEST_LINE = re.compile(rb"(GET|POST|PUT) (/[!-~]*) HTTP/1\.1")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([ -~\t\x80-\xff]*)")
_OURS = frozenset(
    {
        b"authorization",
        b"connection",
        b"cookie",
        b"host",
        b"keep-alive",
        b"proxy-authorization",
        b"proxy-connection",
        b"upgrade",
        API_KEY_HEADER.lower().encode(),
        GIT_RELAY_HEADER.lower().encode(),
        PROGRAM_KEY_HEADER.lower().encode(),
    }
)
# A body that was masked has another length, and it is sent in one piece.
_FRAMING = (b"content-length", b"transfer-encoding", b"expect")
_BEARER = re.compile(rb"[ \t]*bearer[ \t]+([!-~]+)[ \t]*", re.IGNORECASE)


class _RefusedError(Exception):
    """The error that is raised when the relay refuses a request. `status`: the status code and reason of the
    reply, such as `404 Not Found`. The text is the body of the reply.
    """

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class _Listener:
    """The address of the app server's listener for requests from sandboxes. `is_encrypted`: whether the
    listener uses TLS. `path`: the text with which the path of each URL of the listener begins.
    """

    host: str
    port: int
    is_encrypted: bool
    path: str

    @classmethod
    def of(cls, report_url: str) -> "_Listener":
        parts = urlsplit(report_url.removesuffix(_WEBHOOKS))
        is_encrypted = parts.scheme == "https"
        port = parts.port or (443 if is_encrypted else 80)
        return cls(parts.hostname or LOOPBACK, port, is_encrypted, parts.path.rstrip("/"))

    @property
    def netloc(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class GitRelay:
    """A relay on loopback through which git commands reach the app server's git proxy, and programs reach the
    model gateway (which forwards requests to models). The relay listens from `open` to `close`.
    `session_key`: a function that returns the current session key, which the relay sends to the app server.

    Programs of other sandboxes may reach this relay, because several sandboxes may use the same loopback
    address. Therefore the paths of the relay's URLs begin with a random text. Only files of this sandbox
    contain this text.
    """

    def __init__(self, report_url: str, session_key: Callable[[], str | None]) -> None:
        self._listener = _Listener.of(report_url)
        self._session_key = session_key
        self._word = secrets.token_hex(8)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._prompts = PromptMasking()
        self._one_prompt = asyncio.Lock()

    async def open(self, port: int) -> None:
        """Starts to accept connections from git commands and other programs on `port`. If another program
        uses this port, uses any free port instead.

        Git commands find the port in the git configuration file that this server writes.
        """
        try:
            self._server = await self._listen(port)
        except OSError as error:
            logger.warning("the port of the outlet is taken", extra={"cause": str(error)})
            self._server = await self._listen(0)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _listen(self, port: int) -> asyncio.Server:
        listener = await listen(LOOPBACK, port)
        return await asyncio.start_server(self._accept, sock=listener, limit=MAX_HEAD_BYTES)

    @property
    def url(self) -> str:
        """The prefix of the URLs that git uses to reach this relay. The name of a repository follows the
        prefix.
        """
        assert self._server is not None, "open() comes first"
        return f"http://{LOOPBACK}:{self._port}/{self._word}"

    @property
    def models_url(self) -> str:
        """The base URL at which programs reach models through this relay. The path `/v1` of OpenAI's protocol
        is not included.
        """
        return f"{self.url}-models"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except OSError as error:
            logger.info("a connection of git broke off", extra={"cause": type(error).__name__})
        except asyncio.CancelledError:
            # Only `close` cancels these tasks. asyncio would log a cancelled handler as an error.
            return
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            given = await _read_head(reader)
            head = self._rewritten(given, self._key())
            if self._is_prompt(given):
                head = await self._with_prompt(head, given, reader, writer)
            theirs, ours = await _connect(self._listener)
        except _RefusedError as refusal:
            text = f"{refusal}\n"
            head = (
                f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            ).encode()
            writer.write(head + text.encode())
            await writer.drain()
            return
        try:
            ours.write(head)
            await _relay((reader, ours), (theirs, writer))
        finally:
            ours.close()

    def _key(self) -> str:
        if len(self._connections) > MAX_CONNECTIONS:
            raise _RefusedError("503 Service Unavailable", "Too many connections at a time.")
        key = self._session_key()
        if key is None:
            raise _RefusedError("503 Service Unavailable", "This agent server has no session key.")
        return key

    def _is_prompt(self, head: bytes) -> bool:
        return head.startswith(f"POST /{self._word}-models/".encode())

    async def _with_prompt(
        self, head: bytes, given: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Reads the body of a program's request to a model, and masks the secrets in the body. Returns the
        whole request for the app server's model gateway: the headers and the masked body.

        `given`: the request line and headers that the program has sent; they say where the body ends. `head`:
        the rewritten request line and headers to send to the gateway; the length of the masked body is
        written into them. `reader`, `writer`: the connection to the program. Raises _RefusedError if the body
        is too large or cannot be read.
        """
        try:
            body = await read_body(given, reader, writer)
        except BodyTooLargeError as error:
            text = f"A prompt may have {MAX_BYTES // 1024**2} MiB at most."
            raise _RefusedError("413 Content Too Large", text) from error
        except UnreadableBodyError as error:
            raise _RefusedError("400 Bad Request", "The body cannot be read.") from error
        async with self._one_prompt:
            masked = await asyncio.to_thread(self._prompts.masked, body)
        lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        remaining = [line for line in lines if line.partition(b":")[0].lower() not in _FRAMING]
        return b"\r\n".join([*remaining, f"Content-Length: {len(masked)}".encode(), b"", masked])

    def _rewritten(self, head: bytes, key: str) -> bytes:
        first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        asked = _REQUEST_LINE.fullmatch(first)
        git, models = f"/{self._word}/".encode(), f"/{self._word}-models/".encode()
        is_for_models = asked is not None and asked[2].startswith(models)
        before = models if is_for_models else git
        if asked is None or not asked[2].startswith(before) or b"/../" in asked[2]:
            raise _RefusedError("404 Not Found", "This address serves only git and the models.")
        base_path = MODELS_PATH if is_for_models else PROXY_PATH
        path = f"{self._listener.path}{base_path}/".encode() + asked[2].removeprefix(before)
        own = (
            f"Host: {self._listener.netloc}\r\n{API_KEY_HEADER}: {key}\r\n"
            f"{GIT_RELAY_HEADER}: {self.url}\r\nConnection: close"
        ).encode()
        headers = [*_allowed_headers(lines), *(_program_key(lines) if is_for_models else ())]
        return b"\r\n".join([asked[1] + b" " + path + b" HTTP/1.1", own, *headers, b"", b""])


def _allowed_headers(lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise _RefusedError("400 Bad Request", "A header is not valid.")
        if header[1].lower() not in _OURS:
            yield line


def _program_key(lines: list[bytes]) -> Iterator[bytes]:
    """Yields the header PROGRAM_KEY_HEADER with the key that identifies the program to the model gateway.
    Yields nothing if the request contains no such key. `lines`: the headers of the program's request.

    Programs send this key as a bearer token in the header Authorization. The relay removes that header from
    every request, so it sends the key in another header.
    """
    for line in lines:
        name, _, value = line.partition(b":")
        if name.lower() == b"authorization" and (bearer := _BEARER.fullmatch(value)):
            yield PROGRAM_KEY_HEADER.encode() + b": " + bearer[1]


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        async with time_limit(_HEAD_SECONDS):
            return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError) as error:
        raise _RefusedError("400 Bad Request", "The request cannot be read.") from error


async def _connect(listener: _Listener) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with time_limit(_CONNECT_SECONDS):
            return await asyncio.open_connection(
                listener.host, listener.port, ssl=listener.is_encrypted or None
            )
    except (OSError, TimeoutError) as error:
        raise _RefusedError(
            "503 Service Unavailable", "Slipway's app server does not answer. Try again in a moment."
        ) from error


async def _relay(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Forwards bytes in both directions until one side closes its connection. `ways`: one pair for each
    direction; the bytes are read from the first item of the pair and written to the second item.
    """
    tasks = [asyncio.create_task(_pass(*way), name="git relay") for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception) and not isinstance(ended, OSError):
                raise ended


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(_PIECE_BYTES):
        sink.write(piece)
        await sink.drain()
