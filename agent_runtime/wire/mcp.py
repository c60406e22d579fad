"""MCP servers that a client tries out or signs in to."""

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
    """An MCP server to try out. timeout: seconds it may take to answer.

    tool_call: one tool to call then, to see whether its credentials are good; it must only read.
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
    """oauth_state: tokens, client and expiry, for the client to keep below the server's `auth.state`."""

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
