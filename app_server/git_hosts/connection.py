"""Calls one git host with one user's token. Sends headers, raises errors, obeys rate limits and repeats
failed requests in the same way for all hosts.

The token is sent only to the host that it belongs to. If this host redirects a request to another host, the
token is not sent to the other host. A redirect to a private network address is never followed.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import orjson
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from app_server.git_hosts import errors
from app_server.git_hosts.rate_limits import RateLimits
from app_server.git_hosts.schemas import HostUser, RateLimit
from app_server.http.additional_trust import certificate_problem
from app_server.http.bounded_body import IDENTITY, BodyTooLong, read_body
from app_server.http.connection_errors import connection_problem
from app_server.http.guarded_client import bound_to

TIMEOUT_SECONDS = 20.0
MAX_REPLY_BYTES = 4 * 1024 * 1024
MAX_REDIRECTS = 3
_ATTEMPTS = 3
_REASON_BYTES = 64 * 1024
_REPEATED_STATUS = frozenset((500, 502, 503, 504))
_SAME_CALL = frozenset((307, 308))

Result = TypeVar("Result")

Query = Mapping[str, str | int | bool | None]
ReasonOf = Callable[[Any], str]
"""A function that returns the error message of a git host. Its argument is the parsed JSON of the error
reply. It returns an empty text if the reply contains no message.
"""
MissingScope = Callable[[httpx.Response, Any], str | None]
"""A function that returns which permission the token lacks. Its arguments are the error reply of a git host
and the parsed JSON of this reply. It returns None if the reply does not say.
"""


def _unknown_scope(_reply: httpx.Response, _said: Any) -> str | None:
    return None


class _TryAgain(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class HostReply:
    """A successful reply of a git host with its whole body. `headers`: a look-up ignores upper and lower
    case. `url`: the address that replied, after redirects.
    """

    status: int
    headers: httpx.Headers
    content: bytes
    url: str

    def json(self) -> Any:
        """Returns the body of the reply, parsed as JSON. Raises ValueError if the body is not JSON."""
        return orjson.loads(self.content)

    @property
    def next_link(self) -> str | None:
        """If the reply is a page of a list: the address of the next page, from the `Link` header of the reply
        (RFC 8288). None if there is no next page.
        """
        links = httpx.Response(200, headers={"link": self.headers.get("link", "")}).links
        return links.get("next", {}).get("url")


@dataclass(frozen=True)
class FormFile:
    """A file that is sent to a git host as the only field of a form (multipart/form-data)."""

    form_field: str
    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class HostConnection:
    """A connection to a git host's API that uses one token. `api_url`: the base URL of the API, without a
    slash at the end. `headers`: the headers of each request, which contain the token. `limits`: stores the
    rate limits that hosts state.

    Two functions interpret the host's error replies. `reason_of`: returns the error message in the reply.
    `missing_scope`: returns the permission that the token lacks, or None if the reply does not state it.
    """

    host: str
    api_url: str
    headers: Mapping[str, str] = field(repr=False)
    http: httpx.AsyncClient
    limits: RateLimits
    reason_of: ReasonOf
    missing_scope: MissingScope = _unknown_scope

    @property
    def rate_key(self) -> str:
        """The key with which `limits` stores the rate limit for this git host and token. The key contains a
        hash of the headers, so it does not reveal the token.
        """
        token = repr(sorted(self.headers.items())).encode()
        return f"{self.host} {hashlib.sha256(token).hexdigest()}"

    def with_rate_limit(self, user: HostUser) -> HostUser:
        """Returns `user` with the rate limit that the git host stated in its last reply to this token."""
        seen = self.limits.of(self.rate_key)
        if seen.remaining is None:
            return user
        resets_at = None if seen.resets_at is None else datetime.fromtimestamp(seen.resets_at, UTC)
        stated = RateLimit(limit=seen.limit, remaining=seen.remaining, resets_at=resets_at)
        return user.model_copy(update={"rate_limit": stated})

    async def get(
        self,
        path: str,
        query: Query | None = None,
        *,
        accept: str | None = None,
        max_bytes: int = MAX_REPLY_BYTES,
    ) -> HostReply:
        """Sends a GET request and returns the reply. If the git host does not reply or reports a failure,
        repeats the request at most twice.

        `path`: a path below `api_url` whose segments are percent-encoded, or a whole address on the same
        host, such as a link to the next page. `query`: the query parameters. `accept`: the media type that
        the host shall send; None means JSON. `max_bytes`: the largest accepted size of the reply's body.
        Raises the errors that the module `errors.py` lists.
        """
        return await self._repeated("GET", path, query, None, accept, max_bytes)

    async def send(self, method: str, path: str, body: Any = None, query: Query | None = None) -> HostReply:
        """Sends a request that changes data at the git host, and returns the reply. `body`: a file to send as
        a form (FormFile), or data to send as JSON. The request is never repeated, because a host that did not
        reply may still have carried it out.
        """
        try:
            return await self._once(method, path, query, body, None, MAX_REPLY_BYTES)
        except _TryAgain as error:
            raise errors.failed(self.host, error.why) from error

    async def find(
        self, path: str, query: Query | None = None, *, accept: str | None = None
    ) -> HostReply | None:
        """Sends a GET request for a resource that may not exist. Returns the reply, or None for status 404.
        `path`, `query`, `accept`: as in the method `get`.
        """
        from_host = await self._repeated(
            "GET", path, query, None, accept, MAX_REPLY_BYTES, may_be_missing=True
        )
        return None if from_host.status == httpx.codes.NOT_FOUND else from_host

    async def _repeated(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Any,
        accept: str | None,
        max_bytes: int,
        *,
        may_be_missing: bool = False,
    ) -> HostReply:
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(_TryAgain),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_exponential_jitter(multiplier=0.2, max=2.0),
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._once(
                        method, path, query, body, accept, max_bytes, may_be_missing=may_be_missing
                    )
        except _TryAgain as error:
            raise errors.failed(self.host, error.why) from error
        raise AssertionError("the last attempt returns or raises")

    async def _once(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Any,
        accept: str | None,
        max_bytes: int,
        *,
        may_be_missing: bool = False,
    ) -> HostReply:
        if wait := self.limits.wait_seconds(self.rate_key):
            raise errors.rate_limited(self.host, wait)
        url = self._url(path)
        for _ in range(MAX_REDIRECTS + 1):
            reply, content = await self._call(method, url, query, body, accept, max_bytes)
            if target := self._redirected(method, reply):
                url, query = target, None
                continue
            if may_be_missing and reply.status_code == httpx.codes.NOT_FOUND:
                return HostReply(reply.status_code, reply.headers, b"", str(reply.url))
            self._check(reply, content, wants_json=accept is None)
            return HostReply(reply.status_code, reply.headers, content, str(reply.url))
        raise errors.failed(self.host, "it redirects too often")

    def _redirected(self, method: str, reply: httpx.Response) -> str | None:
        """Returns the address to which a redirected request must be sent again. Returns None if the request
        must not be sent again, or if the reply is not a redirect.

        A redirected GET request is always sent again. A request that changes data is sent again only to the
        same git host, and only for the status 307 or 308, which keep the HTTP method. Git hosts use these two
        for renamed repositories.
        """
        if not reply.is_redirect or "location" not in reply.headers:
            return None
        target = str(reply.url.join(reply.headers["location"]))
        is_same_call = reply.status_code in _SAME_CALL and _origin(target) == _origin(self.api_url)
        return target if method == "GET" or is_same_call else None

    def _url(self, path: str) -> str:
        if path.startswith("/"):
            return self.api_url + path
        if _origin(path) != _origin(self.api_url):
            raise errors.failed(self.host, "its link to the next page leads to another host")
        return path

    async def _call(
        self, method: str, url: str, query: Query | None, body: Any, accept: str | None, max_bytes: int
    ) -> tuple[httpx.Response, bytes]:
        is_own = _origin(url) == _origin(self.api_url)
        headers = {**IDENTITY, "User-Agent": "slipway", **(self.headers if is_own else {})}
        if accept:
            headers["Accept"] = accept
        content, files = None, None
        if isinstance(body, FormFile):
            files = {body.form_field: (body.name, body.content, body.media_type)}
        elif body is not None:
            headers.setdefault("Content-Type", "application/json")
            content = orjson.dumps(body)
        params = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        try:
            call = self.http.stream(
                method,
                url,
                params=params or None,
                headers=headers,
                content=content,
                files=files,
                timeout=TIMEOUT_SECONDS,
                follow_redirects=False,
                extensions=bound_to(self.api_url),
            )
            async with call as reply:
                limit = max_bytes if reply.is_success else _REASON_BYTES
                return reply, await read_body(reply, limit, TIMEOUT_SECONDS)
        except BodyTooLong as error:
            raise errors.failed(self.host, "its answer is too long") from error
        except httpx.HTTPError as error:
            if problem := certificate_problem(error):
                raise errors.untrusted(self.host, problem) from error
            raise _TryAgain(connection_problem(self.host, error)) from error

    def _check(self, reply: httpx.Response, content: bytes, *, wants_json: bool) -> None:
        if wait := self.limits.note(self.rate_key, reply):
            raise errors.rate_limited(self.host, wait)
        is_json = "json" in reply.headers.get("content-type", "")
        if reply.status_code in _REPEATED_STATUS:
            raise _TryAgain(f"it answered {reply.status_code}")
        if reply.is_redirect or (reply.is_success and content and wants_json and not is_json):
            # Azure DevOps answers a bad token with its sign-in page, and so do proxies in companies.
            raise errors.token_refused(self.host)
        if not reply.is_success:
            said = _parsed(content) if is_json else None
            scope = self.missing_scope(reply, said)
            raise errors.refused(self.host, reply.status_code, self.reason_of(said), missing_scope=scope)


@dataclass(frozen=True)
class HostAccess:
    """A user's token for a git host, with the data needed to call the host. A client of the host is created
    from this object. `origin`: the host as `https://host`. `http`: the HTTP client for the calls. `limits`:
    stores the rate limits that hosts state. `username`: the user name that the host requires beside the
    token; None if it requires none. `api_url`: None means the usual address of the API.
    """

    origin: str
    token: str = field(repr=False)
    http: httpx.AsyncClient
    limits: RateLimits
    username: str | None = None
    api_url: str | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.origin).netloc

    def connection(
        self,
        api_url: str,
        headers: Mapping[str, str],
        reason_of: ReasonOf,
        missing_scope: MissingScope = _unknown_scope,
    ) -> HostConnection:
        """Returns a connection to the git host that sends these headers with each request. `api_url`: the
        base URL of the host's API. `reason_of`: a function that returns the host's message in an error reply.
        `missing_scope`: a function that returns the permission that the token lacks according to an error
        reply.
        """
        base = api_url.rstrip("/")
        return HostConnection(self.host, base, headers, self.http, self.limits, reason_of, missing_scope)


async def all_at_once(calls: Iterable[Awaitable[Result]], limit: int = 4) -> list[Result]:
    """Awaits the calls, at most `limit` at the same time. Returns their results in the order of `calls`. If
    calls fail, waits until all calls have ended and raises the first error.
    """
    semaphore = asyncio.Semaphore(limit)

    async def one(call: Awaitable[Result]) -> Result:
        async with semaphore:
            return await call

    results = await asyncio.gather(*map(one, calls), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parsed(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except ValueError:
        return None
