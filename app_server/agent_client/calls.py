"""Sends HTTP calls to an agent server and turns its error replies into AppErrors.

An error reply with status 404, 409 or 503 becomes the AppError for this status. An error reply with the code
`path_not_allowed` or `permission_denied` becomes Forbidden, one with the code `mcp_answer_invalid` or
`is_a_directory` becomes BadRequest. Every other error reply becomes BadGateway (`agent_server_error`) with
the message of the agent server.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from agent_runtime.time_limits import time_limit
from agent_runtime.wire import API_KEY_HEADER
from app_server.core.errors import BadGateway, BadRequest, Conflict, Forbidden, NotFound, Unavailable

TIMEOUT_SECONDS = 30.0
PROBE_TIMEOUT_SECONDS = 5.0
ARCHIVE_TIMEOUT_SECONDS = 300.0
REFUSED_PATHS = ("path_not_allowed", "permission_denied")
BAD_REQUESTS = ("mcp_answer_invalid", "is_a_directory", "directory_not_found", "file_system_refused")
_MAX_DETAIL_CHARACTERS = 2000
# Members of a refusal that the caller should see.
_PASSED_ON = ("diff", "fix", "output")

Answer = TypeVar("Answer")


class NoAnswer(BadGateway):
    """The error that is raised if the agent server did not reply. It is unknown whether the agent server has
    done the requested action.
    """

    code = "agent_server_error"


class AgentCalls:
    """The base class of agent server clients. It sends HTTP calls to the agent server at `url`. Each call is
    authenticated with the session key of the sandbox.
    """

    def __init__(
        self, http: httpx.AsyncClient, url: str, session_key: str, passage: Mapping[str, str] | None = None
    ) -> None:
        """Creates a client that calls the agent server at `url`. session_key: the key that the client sends
        with its calls. passage: HTTP headers that a proxy between the app server and the agent server
        requires; None if there is no proxy.
        """
        self._http = http
        self.url = url
        self.passage = passage or {}
        self._headers = {API_KEY_HEADER: session_key, **self.passage}
        self._under_way: set[asyncio.Timeout] = set()

    @property
    def session_key(self) -> str:
        """Returns the session key that this client sends with its calls. The key is replaced from time to
        time while the sandbox runs.
        """
        return self._headers[API_KEY_HEADER]

    async def responds(self) -> bool:
        """Returns whether a server at the agent server's address sends any HTTP reply, even one with an error
        status.
        """
        try:
            async with time_limit(PROBE_TIMEOUT_SECONDS):
                await self._http.get(f"{self.url}/health", headers=self.passage)
        except (httpx.HTTPError, TimeoutError):
            return False
        return True

    def end_calls(self) -> None:
        """Ends all calls of this client that wait for a reply. The ended calls raise NoAnswer. Used when the
        sandbox's container or process has ended, because its connections may then stay open without any data.
        """
        for limit in self._under_way:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())

    async def _call(
        self, method: str, route: str, *, timeout_seconds: float | None = None, **request: Any
    ) -> httpx.Response:
        seconds = timeout_seconds or TIMEOUT_SECONDS
        with _as_bad_gateway():
            async with self._limit(seconds):
                reply = await self._http.request(
                    method, self.url + route, headers=self._headers, timeout=seconds, **request
                )
        _raise_for_problem(reply)
        return reply

    @asynccontextmanager
    async def _limit(self, seconds: float | None) -> AsyncIterator[None]:
        """Limits the duration of the calls in a `with` block. `seconds`: the time limit; None means no limit.

        Raises TimeoutError in the block when the time is over. Also raises it when `end_calls` ends all
        calls, because the sandbox has stopped.
        """
        async with time_limit(seconds) as limit:
            self._under_way.add(limit)
            try:
                yield
            finally:
                self._under_way.discard(limit)

    @asynccontextmanager
    async def _stream(self, route: str, params: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        with _as_bad_gateway():
            async with (
                self._limit(None),
                self._http.stream(
                    "GET",
                    self.url + route,
                    headers=self._headers,
                    params=params,
                    timeout=ARCHIVE_TIMEOUT_SECONDS,
                ) as reply,
            ):
                await _raise_for_streamed_problem(reply)
                yield reply

    async def _open(self, route: str, params: Mapping[str, str]) -> httpx.Response:
        """Returns the reply as soon as its headers have arrived. The caller must close the reply."""
        with _as_bad_gateway():
            async with self._limit(TIMEOUT_SECONDS):
                request = self._http.build_request(
                    "GET",
                    self.url + route,
                    headers={**self._headers, "accept-encoding": "identity"},
                    params=params,
                    timeout=ARCHIVE_TIMEOUT_SECONDS,
                )
                reply = await self._http.send(request, stream=True)
                try:
                    await _raise_for_streamed_problem(reply)
                except BaseException:
                    await reply.aclose()
                    raise
        return reply


@contextmanager
def _as_bad_gateway() -> Iterator[None]:
    """Turns connection errors and timeouts in the `with` block into NoAnswer, a kind of BadGateway."""
    try:
        yield
    except (httpx.HTTPError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise NoAnswer(
            f"The sandbox's agent server does not answer: {reason}",
            fix="Try again in a moment: Slipway restarts a sandbox that has stopped.",
        ) from error


async def _raise_for_streamed_problem(reply: httpx.Response) -> None:
    if reply.is_error:
        await reply.aread()
    _raise_for_problem(reply)


def _raise_for_problem(reply: httpx.Response) -> None:
    if reply.is_success:
        return
    code, detail, members = _problem_of(reply)
    if reply.status_code == httpx.codes.NOT_FOUND:
        raise NotFound(detail, code=code)
    if reply.status_code == httpx.codes.CONFLICT:
        raise Conflict(detail, code=code, **members)
    if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        raise Unavailable(detail, code=code, **members)
    if code in REFUSED_PATHS:
        raise Forbidden(detail, code=code)
    if code in BAD_REQUESTS:
        raise BadRequest(detail, code=code, **members)
    raise BadGateway(
        f"The sandbox's agent server answered {reply.status_code}: {detail}",
        code="agent_server_error",
        agent_server_code=code,
    )


def _problem_of(reply: httpx.Response) -> tuple[str | None, str, dict[str, Any]]:
    """Reads an error reply of the agent server. Returns the error's code, its text, and those further fields
    that Slipway passes on to its clients. If the reply is not a JSON object, the code is None and the text is
    the beginning of the reply.
    """
    try:
        body = reply.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return None, reply.text[:_MAX_DETAIL_CHARACTERS], {}
    detail = str(body.get("detail") or reply.reason_phrase)[:_MAX_DETAIL_CHARACTERS]
    code = body.get("code") if isinstance(body.get("code"), str) else None
    return code, detail, {name: body[name] for name in _PASSED_ON if name in body}


def parse(kind: type[Answer], reply: httpx.Response) -> Answer:
    try:
        return TypeAdapter(kind).validate_json(reply.content)
    except ValidationError as error:
        # Its values stay out of the message: they may be anything.
        fields = ", ".join(".".join(str(part) for part in problem["loc"]) for problem in error.errors())
        raise BadGateway(
            f"The sandbox's agent server sent an answer that Slipway cannot read ({fields}).",
            code="agent_server_error",
        ) from error


def to_json(request: BaseModel) -> Any:
    return request.model_dump(mode="json", exclude_none=True)


def to_params(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
