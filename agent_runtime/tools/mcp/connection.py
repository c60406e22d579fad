"""The connection to one MCP server. It opens at its first use, and again after a failure."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from agent_runtime.secrets.sources import HEADER, CredentialFor, no_credential
from agent_runtime.time_limits import time_limit
from agent_runtime.tools.mcp.config import McpServer
from agent_runtime.tools.mcp.oauth import OAUTH2, OAuthState, SignIn, oauth
from agent_runtime.tools.mcp.questions import AskUser, ElicitationResponse, Question
from agent_runtime.tools.mcp.scopes import missing_scope
from agent_runtime.workspace.approved_files import objection
from agent_runtime.workspace.environment import command_environment
from agent_runtime.workspace.users import as_agent

if TYPE_CHECKING:
    # The library is loaded by the first conversation that has a server: it takes most of a second.
    import httpx2
    from mcp import Client
    from mcp.client.session import ClientRequestContext, IncomingMessage, MessageHandlerFnT
    from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult
    from mcp.types import Tool as RemoteTool

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 30.0
"""The default time limit for a connection. Long enough for a server that npx must download first."""
RETRY_SECONDS = 5.0
"""The time limit for an attempt to connect to a server that did not reply in time at an earlier attempt."""
MAX_TOOL_PAGES = 50
MAX_CAUSE_CHARS = 500
_LAST_WORDS_BYTES = 2_000
_FIRST_REFUSAL = 400
_PROBLEM = "application/problem+json"


class McpUnavailableError(Exception):
    """The error that is raised when an MCP server cannot be used. The text has the reason and the server's
    last output.
    """

    def __init__(self, why: str, *, is_timeout: bool = False) -> None:
        super().__init__(why)
        self.is_timeout = is_timeout


class McpConnection:
    """The connection to one MCP server. `on_change`: called when the server's tools have changed. Each
    connection is opened and closed by one asyncio task, as the MCP library requires; all tasks may use it.
    """

    def __init__(
        self,
        name: str,
        server: McpServer,
        working_dir: Path,
        *,
        on_change: Callable[[], None] | None = None,
        sign_in: SignIn | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        credential_for: CredentialFor = no_credential,
        ask_user: AskUser | None = None,
    ) -> None:
        """Stores the settings; the first call of `tools` or `call` opens the connection. `sign_in`: lets a
        person sign in at a server that requires this; if None, such a server counts as unreachable.
        `ask_user`: lets a person answer the server's questions during a call; if None, the server cannot ask.
        `credential_for`: returns the access key for a URL; used if `server` contains no credential.
        """
        self.name = name
        self.server = server
        self._working_dir = working_dir
        self._on_change = on_change
        self._sign_in = sign_in
        self._credential_for = credential_for
        self._ask_user = ask_user
        self._deadlines: set[asyncio.Timeout] = set()
        self._asking: set[asyncio.Task[ElicitationResponse]] = set()
        self.oauth_state = OAuthState((server.auth or {}).get("state"))
        self.protocol_version: str | None = None
        """The protocol version that was agreed on at the last connection."""
        self._patience_seconds = connect_seconds
        self._client: Client | None = None
        self._owners: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._refusal = ""
        self._wants_end = asyncio.Event()

    async def tools(self) -> "list[RemoteTool]":
        """Returns the tools that the server lists now. Raises McpUnavailableError if it cannot be reached."""
        try:
            client = await self._open()
            async with time_limit(self._patience_seconds):
                with self._failures():
                    return await _all_tools(client)
        except TimeoutError as error:
            raise self._no_answer() from error

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> "CallToolResult":
        """Calls a tool of the MCP server. Raises McpUnavailableError if this fails or exceeds the time limit.
        The time in which a user answers a question of the server does not count.
        """
        client = await self._open()
        try:
            async with time_limit(self.server.timeout) as deadline:
                with self._counted(deadline), self._failures():
                    return await client.call_tool(tool, dict(arguments))
        except TimeoutError as error:
            raise McpUnavailableError(
                f"`{tool}` did not end within {self.server.timeout:g} seconds; it may have run in part.",
                is_timeout=True,
            ) from error

    @contextmanager
    def _counted(self, deadline: asyncio.Timeout) -> Iterator[None]:
        """Counts a tool call as running until the `with` block ends. After the last one, cancels the
        questions to the user. `deadline`: the call's time limit; the user's answer to a question restarts it.
        """
        self._deadlines.add(deadline)
        try:
            yield
        finally:
            self._deadlines.discard(deadline)
            if not self._deadlines:
                for asking in self._asking:
                    asking.cancel()

    async def _answer(self, context: "ClientRequestContext", params: "ElicitRequestParams") -> "ElicitResult":
        """Asks the user the MCP server's question. Returns the answer, or "cancel" if no tool call runs."""
        from mcp.types import ElicitResult

        del context
        if self._ask_user is None or not self._deadlines:
            return ElicitResult(action="cancel")
        asking = asyncio.ensure_future(self._ask_user(Question.of(self.name, params)))
        self._asking.add(asking)
        self._set_deadlines(None)
        try:
            await asyncio.wait([asking])
        finally:
            asking.cancel()
            self._asking.discard(asking)
            if not self._asking:
                self._set_deadlines(asyncio.get_running_loop().time() + self.server.timeout)
        answer = ElicitationResponse("cancel") if asking.cancelled() else asking.result()
        return ElicitResult(action=answer.action, content=answer.content)

    def _set_deadlines(self, when: float | None) -> None:
        for deadline in self._deadlines:
            if not deadline.expired():
                deadline.reschedule(when)

    async def close(self) -> None:
        """Closes the connection, and ends the server if it is a command. Safe to call twice."""
        self._wants_end.set()
        if self._owners:
            await asyncio.wait(self._owners)

    async def _open(self) -> "Client":
        async with self._opening:
            if self._client is not None:
                return self._client
            if self.server.has_lost_secrets:
                raise McpUnavailableError(
                    f"The secrets of the MCP server {self.name} are not kept over a restart: the client that "
                    "gave them has to send them again, with the agent."
                )
            if (changed := await asyncio.to_thread(objection, self.server.approved_files)) is not None:
                raise McpUnavailableError(changed)
            # A connection that broke may still be closing, so each has a separate event.
            self._wants_end = asyncio.Event()
            opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            with tempfile.TemporaryFile() as words:
                owner = asyncio.create_task(self._own(opened, words), name=f"mcp {self.name}")
                self._owners.add(owner)
                owner.add_done_callback(self._forget)
                return await self._opened(opened, owner, words)

    async def _opened(
        self, opened: "asyncio.Future[Client]", owner: asyncio.Task[None], words: IO[bytes]
    ) -> "Client":
        try:
            either: set[asyncio.Future[Any]] = {opened, owner}
            await asyncio.wait(either, timeout=self._patience_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not opened.done():
                owner.cancel()
                await asyncio.wait([owner])
        if opened.done():
            return opened.result()
        cause = None if owner.cancelled() else owner.exception()
        if cause is None:
            raise self._no_answer()
        why = f"{_short(_first(cause))}{self._refusal}{_last_words(words)}"
        where = self.server.command or self.server.url
        raise McpUnavailableError(
            f"The MCP server {self.name} (`{where}`) cannot be reached: {why}"
        ) from cause

    def _no_answer(self) -> McpUnavailableError:
        waited, self._patience_seconds = self._patience_seconds, min(self._patience_seconds, RETRY_SECONDS)
        return McpUnavailableError(
            f"The MCP server {self.name} did not answer within {waited:g} seconds.", is_timeout=True
        )

    async def _own(self, opened: "asyncio.Future[Client]", words: IO[bytes]) -> None:
        """Opens the connection and holds it open until `close` is called or it fails. `opened`: a future
        whose result is the client of the open connection. `words`: the file for the server's output.
        """
        wants_end = self._wants_end
        async with self._connected(words) as client:
            self._client = client
            self.protocol_version = client.protocol_version
            opened.set_result(client)
            listening = asyncio.create_task(self._listen(client), name=f"mcp changes {self.name}")
            try:
                await wants_end.wait()
            finally:
                listening.cancel()
                await asyncio.wait([listening])
                # Only if no other connection was opened meanwhile.
                if self._client is client:
                    self._client = None

    async def _listen(self, client: "Client") -> None:
        """Subscribes to changes of the server's tools. Newer versions of MCP require a subscription."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        # Changes that a server does not report are noticed when a tool is called.
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._tell_of_change()

    def _tell_of_change(self) -> None:
        if self._on_change is not None:
            self._on_change()

    def _forget(self, owner: asyncio.Task[None]) -> None:
        self._owners.discard(owner)
        if not owner.cancelled() and (error := owner.exception()) is not None:
            logger.info(
                "an MCP connection broke", extra={"server": self.name, "cause": _short(_first(error))}
            )

    @asynccontextmanager
    async def _connected(self, words: IO[bytes]) -> "AsyncIterator[Client]":
        from mcp import Client
        from mcp.types import Implementation

        async with AsyncExitStack() as stack:
            yield await stack.enter_async_context(
                Client(
                    await self._transport(stack, words),
                    message_handler=self._on_message(),
                    elicitation_callback=None if self._ask_user is None else self._answer,
                    client_info=Implementation(name="slipway", version="1"),
                )
            )

    async def _transport(self, stack: AsyncExitStack, words: IO[bytes]) -> Any:
        server = self.server
        if server.command is not None:
            from mcp.client.stdio import StdioServerParameters, stdio_client

            cwd = server.cwd or self._working_dir
            program, arguments, environment = as_agent(
                server.command, server.args, command_environment(server.env), cwd
            )
            command = StdioServerParameters(command=program, args=arguments, env=environment, cwd=cwd)
            return stdio_client(command, errlog=words)  # type: ignore[arg-type]  # it needs no more than a descriptor
        assert server.url is not None, "checked by McpServer"
        if server.transport == "sse":
            from mcp.client.sse import sse_client

            return sse_client(server.url, headers=server.all_headers, auth=self._http_auth(server.url))
        from mcp.client.streamable_http import streamable_http_client

        http = await stack.enter_async_context(self._http_client(server.url))
        http.event_hooks = {"response": [self._note_refusal]}
        return streamable_http_client(server.url, http_client=http)

    def _http_client(self, url: str) -> "httpx2.AsyncClient":
        import httpx2
        from mcp.shared._httpx_utils import (
            MCP_DEFAULT_SSE_READ_TIMEOUT,
            MCP_DEFAULT_TIMEOUT,
            create_mcp_http_client,
        )

        headers, auth = self.server.all_headers, self._http_auth(url)
        if headers or auth or self._credential_for(url) is None:
            return create_mcp_http_client(headers=headers, auth=auth)
        # The proxies of the environment are meant for the agent's commands, not for our key.
        return httpx2.AsyncClient(
            auth=self._sign,
            timeout=httpx2.Timeout(MCP_DEFAULT_TIMEOUT, read=MCP_DEFAULT_SSE_READ_TIMEOUT),
            trust_env=False,
        )

    def _sign(self, request: "httpx2.Request") -> "httpx2.Request":
        """Adds the access key for the request's URL to the headers of an HTTP request to the MCP server.
        Looks up the key for each request, because the key may change while the connection is open.
        """
        if key := self._credential_for(str(request.url)):
            request.headers[HEADER] = key
        return request

    def _http_auth(self, url: str) -> "httpx2.Auth | None":
        auth = self.server.auth or {}
        if self._sign_in is None and auth.get("strategy") != OAUTH2:
            return None
        return oauth(url, auth, self.oauth_state, self._sign_in)

    async def _note_refusal(self, response: "httpx2.Response") -> None:
        # The library only reports that the server refused, not why. Only POST counts: the server may refuse
        # the listening stream at any time.
        if response.status_code >= _FIRST_REFUSAL and response.request.method == "POST":
            await response.aread()
            why = _detail(response) or missing_scope(response)
            self._refusal = f" (HTTP {response.status_code} {response.reason_phrase}{why})"

    def _on_message(self) -> "MessageHandlerFnT":
        from mcp.types import ToolListChangedNotification

        async def handle(message: "IncomingMessage") -> None:
            if isinstance(message, ToolListChangedNotification):
                self._tell_of_change()

        return handle

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Converts errors of the MCP server in the `with` block to McpUnavailableError."""
        from mcp.shared.exceptions import MCPError
        from mcp.types import CONNECTION_CLOSED

        self._refusal = ""
        try:
            yield
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                self._wants_end.set()
                self._client = None
            raise McpUnavailableError(
                f"The MCP server {self.name} refused: {error.message}{self._refusal}"
            ) from error


async def _all_tools(client: "Client") -> "list[RemoteTool]":
    found: list[RemoteTool] = []
    cursor: str | None = None
    for _ in range(MAX_TOOL_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _detail(response: "httpx2.Response") -> str:
    """Returns the reason in an HTTP error reply, with ": " in front, so that it can follow another text. The
    app server, which forwards MCP calls, sends the reason in the fields `detail` and `fix` of a problem
    document (RFC 9457). Returns "" if the reply contains no such document.
    """
    if not response.headers.get("content-type", "").startswith(_PROBLEM):
        return ""
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return ""
    said = [problem.get("detail"), problem.get("fix")] if isinstance(problem, dict) else []
    words = " ".join(text for text in said if isinstance(text, str))
    return f": {words[:MAX_CAUSE_CHARS]}" if words else ""


def _first(error: BaseException) -> BaseException:
    """Returns the first exception that an exception group contains. Returns other exceptions unchanged."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _short(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:MAX_CAUSE_CHARS]


def _last_words(words: IO[bytes]) -> str:
    words.seek(0, 2)
    words.seek(max(0, words.tell() - _LAST_WORDS_BYTES))
    said = words.read().decode(errors="replace").strip()
    return f"\nIt said last:\n{said}" if said else ""
