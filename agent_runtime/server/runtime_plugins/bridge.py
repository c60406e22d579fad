"""Serves the desktop's web page and its VNC connection (a WebSocket), both on one Unix socket."""

import asyncio
import contextlib
import logging
import mimetypes
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urlsplit

from websockets.asyncio.server import Server, ServerConnection, unix_serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from agent_runtime.relay.duplex import until_either_ends

NOVNC_DIRECTORIES = (Path("/opt/novnc"), Path("/usr/share/novnc"))
"""The directories of noVNC (a VNC client for browsers): in the sandbox's image, and in Debian's package."""
_PAGE = Path(__file__).with_name("desktop")
_PAGES = {"/": "desktop.html", "/vnc.html": "desktop.html", "/desktop.js": "desktop.js"}
_VNC_PATH, _NOVNC_PATH = "/websockify", "/novnc/"
_PIECE_BYTES = 64 * 1024
_MAX_MESSAGE_BYTES = 4 * 1024**2
"""The maximum size of a message from a VNC client. Messages contain key presses, pointer moves or the text of
the clipboard.
"""
_FRESH_SECONDS = 86_400
_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)


_logger = logging.getLogger(__name__)
# Without this, each request and each connection would be logged.
_logger.setLevel(logging.WARNING)


class Bridge:
    """A web server through which a user's browser shows and controls the desktop of the sandbox.

    It sends the desktop's web page to the browser. It also passes data in both directions between this page
    and the desktop's VNC server (the server that sends the picture). It listens on a Unix socket from `open`
    to `close`.
    """

    def __init__(self, vnc: Path) -> None:
        self._vnc = vnc
        self._server: Server | None = None

    @classmethod
    async def open(cls, socket: Path, vnc: Path) -> "Bridge":
        """Starts the web server of the desktop and returns the Bridge object. `socket`: the path of the Unix
        socket on which the web server listens, in a directory that other users cannot enter. `vnc`: the path
        of the Unix socket on which the desktop's VNC server listens.
        """
        bridge = cls(vnc)
        bridge._server = await unix_serve(
            bridge._pass_on,
            str(socket),
            process_request=_answer,
            select_subprotocol=_choose,
            compression=None,  # VNC packs pictures itself
            max_size=_MAX_MESSAGE_BYTES,
            ping_interval=None,
            logger=_logger,
        )
        return bridge

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _pass_on(self, client: ServerConnection) -> None:
        try:
            reader, writer = await asyncio.open_unix_connection(self._vnc)
        except OSError:
            await client.close(1011, "the desktop has ended")
            return
        with contextlib.suppress(ConnectionClosed, OSError):
            try:
                await until_either_ends(_to_desktop(client, writer), _to_client(reader, client))
            finally:
                writer.close()
                await writer.wait_closed()


def find_novnc() -> Path | None:
    return next(
        (directory for directory in NOVNC_DIRECTORIES if (directory / "core" / "rfb.js").exists()), None
    )


def _choose(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Chooses the WebSocket subprotocol `binary` if the client offers it, as older VNC clients do. Otherwise
    returns None.
    """
    return next((one for one in offered if one == "binary"), None)


async def _to_desktop(client: ServerConnection, writer: asyncio.StreamWriter) -> None:
    async for message in client:
        writer.write(message.encode() if isinstance(message, str) else message)
        await writer.drain()


async def _to_client(reader: asyncio.StreamReader, client: ServerConnection) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        await client.send(piece)


async def _answer(client: ServerConnection, request: Request) -> Response | None:
    """Answers an HTTP request: returns a response with a file of the desktop's web page, or the response 404
    if there is no such file.

    Returns None if the request opens the VNC connection. The WebSocket library then does not send a response,
    but opens the WebSocket.
    """
    path = unquote(urlsplit(request.path).path)
    if path == _VNC_PATH:
        return None
    content = await asyncio.to_thread(partial(_read, path))
    if content is None:
        return client.respond(HTTPStatus.NOT_FOUND, "Not found.\n")
    response = client.respond(HTTPStatus.OK, "")
    response.body = content
    headers = response.headers
    del headers["Content-Length"], headers["Content-Type"]
    headers["Content-Length"] = str(len(content))
    headers["Content-Type"] = "text/html; charset=utf-8" if path in {"/", "/vnc.html"} else _type_of(path)
    headers["Cache-Control"] = f"private, max-age={_FRESH_SECONDS}" if _is_novnc(path) else "no-cache"
    headers["Content-Security-Policy"] = _POLICY
    headers["X-Content-Type-Options"] = "nosniff"
    return response


def _type_of(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _is_novnc(path: str) -> bool:
    return path.startswith(_NOVNC_PATH)


def _read(path: str) -> bytes | None:
    """Returns the content of the file that has this path on the web server: a file of the desktop's page, or
    of noVNC (the VNC client in the browser). Returns None for all other paths.
    """
    if page := _PAGES.get(path):
        return (_PAGE / page).read_bytes()
    root = find_novnc()
    if root is None or not _is_novnc(path):
        return None
    file = (root / path.removeprefix(_NOVNC_PATH)).resolve()
    return file.read_bytes() if file.is_relative_to(root.resolve()) and file.is_file() else None
