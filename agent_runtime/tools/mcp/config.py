"""The configuration of an agent's MCP servers, in the form that clients of the agent server send."""

import base64
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent_runtime.llm.config import MASK

DEFAULT_CALL_SECONDS = 300.0


class McpServer(BaseModel):
    """The configuration of one MCP server. It has either a `command`, which uses MCP over its standard
    streams, or a `url`. Unknown fields are stored unchanged.

    `timeout`: the seconds that a tool call may take. `auth`: a credential. Its field `strategy` says how the
    credential is sent to the server, for example `bearer`, `basic` or `oauth2`. The format is that of
    OpenHands.

    `approved_files`: the files that the user has approved for this server: the SHA-256 digest of each file,
    by absolute path. The server does not start if one of these files has changed.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    command: str | None = Field(default=None, min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = Field(default=None, min_length=1)
    headers: dict[str, str] = {}
    transport: Literal["stdio", "http", "shttp", "streamable-http", "sse"] | None = None
    auth: dict[str, Any] | None = None
    timeout: float = Field(default=DEFAULT_CALL_SECONDS, gt=0, le=3600)
    enabled: bool = True
    approved_files: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        """Returns the given configuration without fields that are null. Accepts `type` as another name of
        `transport`, because some clients send `type`.
        """
        if not isinstance(given, dict):
            return given
        named = {"transport": given["type"]} if "transport" not in given and "type" in given else {}
        return {name: value for name, value in {**given, **named}.items() if value is not None}

    @model_validator(mode="after")
    def _is_reachable(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server has either a `command` or a `url`")
        return self

    @property
    def has_lost_secrets(self) -> bool:
        """Whether a secret in the configuration is lost: the configuration contains only the mask that
        replaces secrets. This happens after a restart of the agent server if the secret was not stored on
        disk.
        """
        return _holds_mask([self.env, self.headers, self.auth])

    @property
    def all_headers(self) -> dict[str, str]:
        """The HTTP headers for requests to this server: the configured headers, and the headers with the
        credential in `auth`.
        """
        return {**self.headers, **_credential(self.auth or {})}


def servers_of(config: Mapping[str, Any]) -> dict[str, McpServer]:
    """Returns the configurations of the enabled MCP servers by name. Raises pydantic.ValidationError if a
    configuration is not valid.

    `config`: the configurations by server name, or, as in other products, an object whose field `mcpServers`
    contains the configurations by server name.
    """
    servers = {name: McpServer.model_validate(server) for name, server in named_servers(config).items()}
    return {name: server for name, server in servers.items() if server.enabled}


def named_servers(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configurations of the MCP servers by name, without validation."""
    below = config.get("mcpServers")
    return dict(below if isinstance(below, dict) else config)


def _holds_mask(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_holds_mask, value.values()))
        case list():
            return any(map(_holds_mask, value))
        case _:
            return bool(value == MASK)


def _credential(auth: Mapping[str, Any]) -> dict[str, str]:
    match auth.get("strategy"):
        case "bearer" | "api_key" if value := auth.get("value"):
            header = auth.get("header_name")
            return {str(header): str(value)} if header else {"Authorization": f"Bearer {value}"}
        case "basic":
            pair = f"{auth.get('username', '')}:{auth.get('password') or ''}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        case "header":
            return {str(name): str(value) for name, value in (auth.get("headers") or {}).items() if value}
        case _:
            return {}
