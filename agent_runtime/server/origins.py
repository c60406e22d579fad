"""Decides which web pages may call this server. Pages from the configured origins may always call it.

A server with session keys (keys that clients must send) also accepts calls of all pages with a localhost
address, such as `http://localhost:3000`. This is safe, because each call must contain a key.

A server without session keys accepts calls of all programs on its machine. A browser on this machine also
runs the scripts of web pages from foreign sites, and such a script could call this server. So the server
refuses calls of pages from other sites.

A foreign site can also let its domain name point to the address of this server. Then the browser treats this
server as a part of the foreign site. So a server without session keys also refuses requests whose header Host
contains a name that could belong to a foreign site.
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem, problem_response

_LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


def is_allowed_origin(origin: str, config: Config) -> bool:
    if origin in config.allow_cors_origins or "*" in config.allow_cors_origins:
        return True
    if config.allow_cors_origin_regex and re.fullmatch(config.allow_cors_origin_regex, origin):
        return True
    return bool(config.session_keys) and _LOCAL.fullmatch(origin) is not None


class Cors(CORSMiddleware):
    """The CORS middleware, which tells browsers which web pages may read the replies of this server. It reads
    the configuration for each request, because POST /api/init may change the configuration.
    """

    def __init__(self, app: ASGIApp, state: Any) -> None:
        super().__init__(app, allow_methods=["*"], allow_headers=["*"], expose_headers=["*"])
        self._state = state

    def is_allowed_origin(self, origin: str) -> bool:
        return is_allowed_origin(origin, self._state.config)


class OpenServerGuard:
    """The middleware that protects a server without session keys (keys that clients must send). It refuses
    requests that may come from a web page of another site.
    """

    def __init__(self, app: ASGIApp, state: Any) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        config: Config = self._state.config
        if scope["type"] == "lifespan" or config.session_keys:
            await self._app(scope, receive, send)
            return
        problem = _problem(Headers(scope=scope), config)
        if problem is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": problem.code})
        else:
            response: Response = problem_response(Request(scope), problem)
            await response(scope, receive, send)


def _problem(headers: Mapping[str, str], config: Config) -> ServerProblem | None:
    host, origin = headers.get("host", ""), headers.get("origin")
    name = urlsplit(f"//{host}").hostname or ""
    if not _is_own_name(name, config):
        return ServerProblem(
            403,
            "host_not_allowed",
            f"A server without session keys is not reached by the name {name[:100]}.",
            "Set OH_SESSION_API_KEYS_0, or OH_WEB_URL if this is its address.",
        )
    if origin is None or urlsplit(origin).netloc == host or is_allowed_origin(origin, config):
        return None
    return ServerProblem(
        403,
        "origin_not_allowed",
        "A server without session keys takes nothing from web pages of other origins.",
        "Set OH_SESSION_API_KEYS_0, or name the origin in OH_ALLOW_CORS_ORIGINS_0.",
    )


def _is_own_name(name: str, config: Config) -> bool:
    """Returns whether requests to the host name `name` are safe, because `name` cannot be the domain of a
    foreign site. Safe names are an IP address, a single word such as `localhost`, and this server's public
    name.
    """
    if "." not in name or name.endswith(".localhost"):
        return True
    if config.web_url and name == urlsplit(config.web_url).hostname:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
