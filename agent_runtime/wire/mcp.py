"""The models of requests to test MCP servers and to sign in to MCP servers."""

from typing import Literal

from pydantic import (
    BaseModel,
    Field,
)

from agent_runtime.events.base import JsonObject


class McpToolCall(BaseModel):
    name: str = Field(min_length=1)
    arguments: JsonObject = {}


class McpTestRequest(BaseModel):
    """The request body of POST /api/mcp/test and /api/mcp/oauth/start: the configuration of an MCP server.
    `timeout`: the seconds that the server may take to answer.

    `tool_call`: a tool to call as a test of the server's credentials. The tool must not change anything.
    """

    name: str = Field(default="test-server", min_length=1, max_length=128)
    server: JsonObject
    timeout: float = Field(default=15.0, gt=0, le=120)
    tool_call: McpToolCall | None = None


class McpToolCallResult(BaseModel):
    is_error: bool
    text: str


class McpTestSuccess(BaseModel):
    ok: Literal[True] = True
    tools: list[str]
    tool_result: McpToolCallResult | None = None
    oauth_state: JsonObject | None = None


McpErrorKind = Literal["timeout", "connection", "unknown"]


class McpTestFailure(BaseModel):
    ok: Literal[False] = False
    error: str
    error_kind: McpErrorKind


McpTestResult = McpTestSuccess | McpTestFailure


class McpOAuthStarted(BaseModel):
    ok: bool
    job_id: str | None = None
    authorization_url: str | None = None
    error: str | None = None
    error_kind: McpErrorKind | None = None


class McpOAuthStatus(BaseModel):
    """The reply about a sign-in to an MCP server: the progress of the sign-in.

    `oauth_state`: the data for later connections to the MCP server, if the sign-in has succeeded: the tokens,
    the registered OAuth client and the expiry time of the tokens. The client must store this object in the
    MCP server's configuration as `auth.state`.
    """

    ok: bool = True
    status: Literal["pending", "authorizing", "succeeded", "failed"]
    job_id: str
    authorization_url: str | None = None
    callback_ready: bool = False
    tools: list[str] | None = None
    tool_result: McpToolCallResult | None = None
    oauth_state: JsonObject | None = None
    error: str | None = None
    error_kind: McpErrorKind | None = None


class McpOAuthCallback(BaseModel):
    callback_url: str = Field(min_length=1, max_length=8192)
