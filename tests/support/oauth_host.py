"""A fake sign-in of a git host on loopback: it grants, renews and revokes tokens by OAuth.

    with OAuthHost() as host:
        host.origin                       # the origin of the sign-in and of the API
        came_back = host.allow(url)       # the user agrees: returns code and state
        host.life_seconds = 60            # the lifetime of new tokens

It answers under the URL paths of all supported kinds of git hosts. A refresh token is valid once; a token
that is used again is refused and noted in `replayed`.
"""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.support.patience import PATIENCE_SECONDS

CLIENT_ID = "Iv23slipway"
CLIENT_SECRET = "canary-client-secret-77"
LOGIN = "ada"

_OF_TOKEN = (
    "/user", f"/users/{LOGIN}", "/application-properties", "/installation/repositories",
    "/installation/token", "/graphql",
)  # fmt: skip


@dataclass
class OAuthHost:
    life_seconds: int | None = 3600
    """How long tokens are valid, in seconds. None: tokens do not expire, and there is no refresh token."""
    slow_down: int = 0
    """How many of the next polls of the device flow are answered with the error slow_down."""
    is_down: bool = False
    asked_to_renew: threading.Event = field(default_factory=threading.Event)
    may_renew: threading.Event = field(default_factory=threading.Event)
    """If this event is cleared, renewals wait until it is set."""
    granted_at: list[datetime] = field(default_factory=list)
    """The times at which tokens were granted to users."""
    renewals: int = 0
    replayed: list[str] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    live: set[str] = field(default_factory=set)
    """The access tokens that the API accepts."""
    refreshers: set[str] = field(default_factory=set)
    grants: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The parameters of each authorization request, by the code that was issued for it."""
    devices: dict[str, str] = field(default_factory=dict)
    """The state of each device code: pending, allowed or denied."""
    questions: list[float] = field(default_factory=list)
    """The times of the polls of the device flow, by the monotonic clock."""
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    public_key: RSAKey | None = None
    """The public key of the GitHub App. Its installation has the repository team/harbour. None: no app."""
    of_repository: dict[str, str | None] = field(default_factory=dict)
    """The only repository of each installation token. None: the token is for all repositories."""
    tls: ssl.SSLContext | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __enter__(self) -> Self:
        self.may_renew.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        if self.tls:
            self._server.socket = self.tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="oauth host")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def origin(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.server_port}"

    def allow(self, url: str) -> dict[str, str]:
        """Acts as the host's page when the user agrees. Returns the parameters with which the browser
        returns.
        """
        asked = dict(parse_qsl(urlsplit(url).query))
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT_ID)
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self.grants[code] = asked
        return {"code": code, "state": asked["state"]}

    def answer(
        self, method: str, path: str, form: dict[str, str], headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        self.requests.append((method, path, form))
        if self.is_down:
            return 503, {}
        bearer = headers.get("Authorization", "").rpartition(" ")[2]
        if path.endswith(_OF_TOKEN):
            return self._of_token(path, bearer)
        if "/app/" in path:
            return self._of_github_app(method, form, bearer)
        if not self._is_named(form, headers):
            return 401, {"error": "invalid_client"}
        if method == "DELETE" or path.endswith("/revoke"):
            token = form.get("access_token") or form["token"]
            self.revoked.append(token)
            self.live.discard(token)
            return (204, None) if method == "DELETE" else (200, {})
        return self._device() if "device" in path else self._tokens(form)

    def _device(self) -> tuple[int, Any]:
        code = secrets.token_urlsafe()
        self.devices[code] = "pending"
        place = f"{self.origin}/login/device"
        return 200, {
            "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": place,
            "expires_in": 900, "interval": 1,
        }  # fmt: skip

    def _of_token(self, path: str, token: str) -> tuple[int, Any]:
        if token not in self.live:
            return 401, {"message": "Bad credentials"}
        if path.endswith("/installation/token"):
            self.revoked.append(token)
            return 204, None
        viewer = {"login": "slipway[bot]", "databaseId": 9, "avatarUrl": ""}
        answers: dict[str, Any] = {
            "user": {"id": 7, "login": LOGIN, "username": LOGIN, "avatar_url": "", "name": "Ada"},
            "graphql": {"data": {"viewer": viewer}},
            "repositories": {"repositories": []},
            "application-properties": {"version": "9.4.0"},
            LOGIN: {"id": 7, "name": LOGIN, "displayName": "Ada"},
        }
        return 200, answers[path.rpartition("/")[2]]

    def _of_github_app(self, method: str, form: dict[str, Any], bearer: str) -> tuple[int, Any]:
        assert self.public_key is not None
        claims = jwt.decode(bearer, self.public_key).claims
        if claims["iss"] != CLIENT_ID or not claims["iat"] < time.time() < claims["exp"] < time.time() + 600:
            return 401, {"message": "A JSON web token could not be decoded"}
        if method == "GET":
            account = {"login": "team"}
            return 200, [{"id": 4711, "account": account, "repository_selection": "selected"}]
        names = form.get("repositories", [])
        if set(names) - {"harbour"}:
            return 422, {"message": "There is at least one repository that does not exist"}
        token = f"ghs_{secrets.token_urlsafe(9)}"
        self.live.add(token)
        self.of_repository[token] = names[0] if names else None
        return 201, {
            "token": token,
            "expires_at": (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds"),
            "permissions": {"contents": "write", "metadata": "read"},
            "repositories": [{"full_name": f"team/{name}"} for name in names],
        }

    def _tokens(self, form: dict[str, str]) -> tuple[int, Any]:
        if form["grant_type"] == "refresh_token":
            return self._renewed(form["refresh_token"])
        if form["grant_type"] == "authorization_code":
            asked = self.grants.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            is_good = asked and asked["code_challenge"] == proof
            if not is_good or asked is None or asked["redirect_uri"] != form["redirect_uri"]:
                # As GitHub does: status 200 with an error.
                return 200, {"error": "bad_verification_code", "error_description": "The code is wrong."}
            return self._grant(asked.get("scope", ""))
        self.questions.append(time.monotonic())
        state = self.devices[form["device_code"]]
        if self.slow_down:
            self.slow_down -= 1
            return 400, {"error": "slow_down"}
        if state == "allowed":
            return self._grant("repo,read:org")
        return 400, {"error": {"pending": "authorization_pending", "denied": "access_denied"}[state]}

    def _renewed(self, refresher: str) -> tuple[int, Any]:
        self.asked_to_renew.set()
        assert self.may_renew.wait(PATIENCE_SECONDS)
        with self.lock:
            if refresher not in self.refreshers:
                self.replayed.append(refresher)
                return 400, {"error": "invalid_grant", "error_description": "It was used or revoked."}
            self.refreshers.remove(refresher)
            self.renewals += 1
            self.live.clear()
            return self._grant("")

    def _grant(self, scope: str) -> tuple[int, Any]:
        access, refresh = f"access-{secrets.token_urlsafe(9)}", f"refresh-{secrets.token_urlsafe(9)}"
        self.live.add(access)
        self.granted_at.append(datetime.now(UTC))
        granted: dict[str, Any] = {"access_token": access, "token_type": "bearer", "scope": scope}
        if self.life_seconds is not None:
            self.refreshers.add(refresh)
            granted |= {"refresh_token": refresh, "expires_in": self.life_seconds}
        return 200, granted

    def _is_named(self, form: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        given = headers.get("Authorization", "")
        if given.startswith("Basic "):
            user, _, password = base64.b64decode(given.removeprefix("Basic ")).decode().partition(":")
            return (unquote(user), unquote(password)) == (CLIENT_ID, CLIENT_SECRET)
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)


def _handler_of(host: OAuthHost) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            is_json = "json" in self.headers.get("content-type", "")
            form = json.loads(body) if is_json else dict(parse_qsl(body))
            if self.command == "GET" and self.path.partition("?")[0].endswith("/authorize"):
                self._lead_back()
                return
            status, content = host.answer(self.command, urlsplit(self.path).path, form, dict(self.headers))
            data = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            # Bitbucket Data Center names the user of the request in this header.
            self.send_header("x-ausername", LOGIN)
            self.end_headers()
            self.wfile.write(data)

        def _lead_back(self) -> None:
            """Redirects the browser back at once, as if the user had agreed."""
            brought = urlencode(host.allow(self.path))
            asked = dict(parse_qsl(urlsplit(self.path).query))
            self.send_response(302)
            self.send_header("location", f"{asked['redirect_uri']}?{brought}")
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST = do_DELETE = do_any  # noqa: N815 (the names that the library calls)

        def log_message(self, *_arguments: object) -> None:
            """Logs nothing."""

    return Handler
