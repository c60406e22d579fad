"""Typed calls to the agent server of one sandbox.

A refusal becomes an AppError: 404 and 409 are passed on, whatever else goes wrong there is BadGateway
(`agent_server_error`) with the agent server's own words.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from agent_runtime.wire import (
    API_KEY_HEADER,
    BashOutput,
    ConversationInfo,
    ExecuteBashRequest,
    SendMessageRequest,
    StartConversationRequest,
)
from app_server.errors import BadGateway, Conflict, NotFound

TIMEOUT_SECONDS = 30.0
HEALTH_TIMEOUT_SECONDS = 2.0
UPLOAD_TIMEOUT_SECONDS = 600.0
ARCHIVE_TIMEOUT_SECONDS = 300.0
MAX_PATCH_BYTES = 50 * 1024**2
_MAX_DETAIL_CHARACTERS = 2000

Answer = TypeVar("Answer")


class GitChange(BaseModel):
    """One changed path of a repository, relative to its root."""

    status: Literal["ADDED", "UPDATED", "DELETED", "MOVED"]
    path: str


class GitDiff(BaseModel):
    """Both sides of one changed file; None where it does not exist."""

    original: str | None = None
    modified: str | None = None


class AgentClient:
    """The agent server at `url`. Cheap to make; holds no connection of its own."""

    def __init__(self, http: httpx.AsyncClient, url: str, session_key: str) -> None:
        self._http = http
        self.url = url
        self._headers = {API_KEY_HEADER: session_key}

    async def is_healthy(self) -> bool:
        """Whether an agent server answers there that takes our key."""
        try:
            health = await self._http.get(f"{self.url}/health", timeout=HEALTH_TIMEOUT_SECONDS)
            # Some other process may have taken the port: only our own agent server knows the key.
            greeting = await self._http.get(
                f"{self.url}/api/conversations/{UUID(int=0).hex}",
                headers=self._headers,
                timeout=HEALTH_TIMEOUT_SECONDS,
            )
        except httpx.HTTPError:
            return False
        return health.status_code == httpx.codes.OK and greeting.status_code == httpx.codes.NOT_FOUND

    async def create_conversation(self, request: StartConversationRequest) -> ConversationInfo:
        """The conversation, also when one of this id is there already."""
        reply = await self._call("POST", "/api/conversations", json=_json(request))
        return _parse(ConversationInfo, reply)

    async def get_conversation(self, conversation_id: UUID) -> ConversationInfo:
        return _parse(ConversationInfo, await self._call("GET", f"/api/conversations/{conversation_id}"))

    async def delete_conversation(self, conversation_id: UUID) -> None:
        await self._call("DELETE", f"/api/conversations/{conversation_id}")

    async def send_message(self, conversation_id: UUID, message: SendMessageRequest) -> None:
        """Idempotent by the message's id."""
        await self._call("POST", f"/api/conversations/{conversation_id}/events", json=_json(message))

    async def run(self, conversation_id: UUID) -> None:
        """Raises Conflict when it runs already."""
        await self._call("POST", f"/api/conversations/{conversation_id}/run")

    async def pause(self, conversation_id: UUID) -> None:
        await self._call("POST", f"/api/conversations/{conversation_id}/pause")

    async def interrupt(self, conversation_id: UUID) -> None:
        await self._call("POST", f"/api/conversations/{conversation_id}/interrupt")

    async def execute_command(
        self, command: str, *, cwd: str | None = None, timeout_seconds: int = 300
    ) -> BashOutput:
        """The ended command; `exit_code` -1 means that it was killed at its timeout."""
        request = ExecuteBashRequest(command=command, cwd=cwd, timeout=timeout_seconds)
        reply = await self._call(
            "POST",
            "/api/bash/execute_bash_command",
            json=_json(request),
            timeout_seconds=timeout_seconds + TIMEOUT_SECONDS,
        )
        return _parse(BashOutput, reply)

    async def upload_file(self, source: Path, path: str) -> None:
        """Copies a file of this machine to the absolute `path` in the sandbox, a piece at a time."""
        with source.open("rb") as file:
            await self._call(
                "POST",
                "/api/file/upload",
                params={"path": path},
                files={"file": (source.name, file)},
                timeout_seconds=UPLOAD_TIMEOUT_SECONDS,
            )

    async def git_changes(self, path: str, ref: str | None = None) -> list[GitChange]:
        reply = await self._call("GET", "/api/git/changes", params=_params(path=path, ref=ref))
        return _parse(list[GitChange], reply)

    async def git_diff(self, path: str, ref: str | None = None) -> GitDiff:
        reply = await self._call("GET", "/api/git/diff", params=_params(path=path, ref=ref))
        return _parse(GitDiff, reply)

    async def git_patch(self, path: str, base_ref: str | None = None) -> bytes:
        """The working tree's change as one unified diff. Raises BadGateway above MAX_PATCH_BYTES."""
        params = _params(path=path, format="git-delta", base_ref=base_ref)
        patch = bytearray()
        async with self._stream("/api/file/archive", params) as reply:
            async for piece in reply.aiter_bytes():
                patch += piece
                if len(patch) > MAX_PATCH_BYTES:
                    raise BadGateway("The change is too large for a patch.", code="agent_server_error")
        return bytes(patch)

    async def _call(
        self, method: str, route: str, *, timeout_seconds: float = TIMEOUT_SECONDS, **request: Any
    ) -> httpx.Response:
        with _as_bad_gateway():
            reply = await self._http.request(
                method, self.url + route, headers=self._headers, timeout=timeout_seconds, **request
            )
        _raise_for_problem(reply)
        return reply

    @asynccontextmanager
    async def _stream(self, route: str, params: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        with _as_bad_gateway():
            async with self._http.stream(
                "GET", self.url + route, headers=self._headers, params=params, timeout=ARCHIVE_TIMEOUT_SECONDS
            ) as reply:
                if reply.is_error:
                    await reply.aread()
                _raise_for_problem(reply)
                yield reply


@contextmanager
def _as_bad_gateway() -> Iterator[None]:
    """Turns "it does not answer" into an AppError."""
    try:
        yield
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise BadGateway(
            f"The sandbox's agent server does not answer: {reason}",
            code="agent_server_error",
            fix="Try again in a moment: a sandbox that stopped is started again by itself.",
        ) from error


def _raise_for_problem(reply: httpx.Response) -> None:
    if reply.is_success:
        return
    code, detail = _problem_of(reply)
    if reply.status_code == httpx.codes.NOT_FOUND:
        raise NotFound(detail, code=code)
    if reply.status_code == httpx.codes.CONFLICT:
        raise Conflict(detail, code=code)
    raise BadGateway(
        f"The sandbox's agent server answered {reply.status_code}: {detail}",
        code="agent_server_error",
        agent_server_code=code,
    )


def _problem_of(reply: httpx.Response) -> tuple[str | None, str]:
    """`(code, detail)` of a problem document; of anything else its text."""
    try:
        body = reply.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return None, reply.text[:_MAX_DETAIL_CHARACTERS]
    detail = str(body.get("detail") or reply.reason_phrase)[:_MAX_DETAIL_CHARACTERS]
    return body.get("code") if isinstance(body.get("code"), str) else None, detail


def _parse(kind: type[Answer], reply: httpx.Response) -> Answer:
    try:
        return TypeAdapter(kind).validate_json(reply.content)
    except ValidationError as error:
        # Its values stay out of the message: they may be anything.
        fields = ", ".join(".".join(str(part) for part in problem["loc"]) for problem in error.errors())
        raise BadGateway(
            f"The sandbox's agent server gave an answer we do not understand ({fields}).",
            code="agent_server_error",
        ) from error


def _json(request: BaseModel) -> Any:
    return request.model_dump(mode="json", exclude_none=True)


def _params(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
