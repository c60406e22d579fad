"""The configuration of an agent's MCP servers, in the form that clients send."""

import base64
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent_runtime.llm.config import MASK

DEFAULT_CALL_SECONDS = 300.0


class McpServer(BaseModel):
    """A command that speaks MCP over its standard streams, or a URL. Unknown fields are kept.

    timeout: the seconds that a call may take.
    auth: a credential with its `strategy`, as the protocol names them.
    approved_files: SHA-256 digests by absolute path; the server starts only while these files have these
    digests.
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
        """Drops null fields, and accepts `type` as another name of `transport`: clients send either name."""
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
        """Whether the configuration contains the mask of a secret that was not stored, as after a restart."""
        return _holds_mask([self.env, self.headers, self.auth])

    @property
    def all_headers(self) -> dict[str, str]:
        """The configured HTTP headers, and the headers that contain the credential in `auth`."""
        return {**self.headers, **_credential(self.auth or {})}


def servers_of(config: Mapping[str, Any]) -> dict[str, McpServer]:
    """Returns the enabled servers by name. Raises pydantic.ValidationError for one that is not valid.

    config: the servers by name, or an object with them as `mcpServers`, as in files of other products.
    """
    servers = {name: McpServer.model_validate(server) for name, server in named_servers(config).items()}
    return {name: server for name, server in servers.items() if server.enabled}


def named_servers(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the servers by name as they were configured, without validation."""
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
