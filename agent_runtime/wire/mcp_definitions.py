"""The definition of an MCP tool that users approve, and the fingerprint that identifies a change of this
definition.
"""

import hashlib
from typing import TYPE_CHECKING

import orjson
from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import JsonObject

if TYPE_CHECKING:
    from mcp.types import Tool as RemoteTool


class ToolDefinition(BaseModel):
    """The parts of an MCP tool's description on which a user's approval is based. If one part changes, the
    user must approve the tool again.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonObject = {}
    annotations: JsonObject = {}

    @classmethod
    def of(cls, remote: "RemoteTool") -> "ToolDefinition":
        hints = remote.annotations.model_dump(exclude_none=True, by_alias=True) if remote.annotations else {}
        return cls(
            name=remote.name,
            title=remote.title,
            description=remote.description or "",
            input_schema=dict(remote.input_schema),
            annotations=hints,
        )

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(orjson.dumps(self.model_dump(), option=orjson.OPT_SORT_KEYS)).hexdigest()

    def readable(self) -> str:
        """Returns this definition as text with several lines, so that two definitions can be compared as a
        diff.
        """
        return "\n".join(
            [
                f"name: {self.name}",
                *([f"title: {self.title}"] if self.title else []),
                "description:",
                *(f"  {line}" for line in self.description.splitlines()),
                "parameters:",
                *(f"  {line}" for line in _indented(self.input_schema)),
                "hints:",
                *(f"  {line}" for line in _indented(self.annotations)),
            ]
        )


def fingerprint_of_change(old: ToolDefinition | None, new: ToolDefinition | None) -> str:
    """Returns the fingerprint of a change from `old` to `new`. A user's approval refers to this fingerprint.

    `old`: None means that the tool is new. `new`: None means that the tool was removed.
    """
    pair = f"{old.fingerprint if old else ''}>{new.fingerprint if new else ''}"
    return hashlib.sha256(pair.encode()).hexdigest()


def _indented(value: JsonObject) -> list[str]:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().split("\n")
