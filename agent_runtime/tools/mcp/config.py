"""Which MCP servers an agent has, as clients write them down."""

import base64
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent_runtime.llm.config import MASK

DEFAULT_CALL_SECONDS = 300.0


class McpServer(BaseModel):
    """A command that speaks MCP over its standard streams, or a URL. Fields not used here are kept.

    timeout: seconds that a call may take. auth: a credential with its `strategy`, named as in the protocol.
    approved_files: SHA-256 by absolute path: it is started only while these files are what they were.
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
        """Clients spell out what they leave empty, and name the transport in two ways."""
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
        """Whether something stands for a secret that was not kept, as after a restart."""
        return _holds_mask([self.env, self.headers, self.auth])

    @property
    def all_headers(self) -> dict[str, str]:
        """Its own, and those that its credential stands for."""
        return {**self.headers, **_credential(self.auth or {})}


def servers_of(config: Mapping[str, Any]) -> dict[str, McpServer]:
    """The servers that are switched on, by name. pydantic.ValidationError for one that is none.

    config: server by name, or the same below `mcpServers` as in the files of other products.
    """
    servers = {name: McpServer.model_validate(server) for name, server in named_servers(config).items()}
    return {name: server for name, server in servers.items() if server.enabled}


def named_servers(config: Mapping[str, Any]) -> dict[str, Any]:
    """The servers as they were written down, by name."""
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
