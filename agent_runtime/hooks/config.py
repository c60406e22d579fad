"""Defines the configuration of hooks: commands, or questions to a model, that run at certain points of a
conversation. The configuration is accepted in the format of OpenHands (whose protocol Slipway's clients use)
and in the format of Claude Code's settings.
"""

import re
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from agent_runtime.events.base import JsonObject
from agent_runtime.events.hook import HookPoint

FIELDS: dict[HookPoint, str] = {
    point: re.sub(r"(?<!^)(?=[A-Z])", "_", point.value).lower() for point in HookPoint
}
"""Maps each point of a conversation at which hooks run to the field of HookConfig for its hooks, for example
`PreToolUse` to `pre_tool_use`.
"""

# Claude's names for tools that have other names here.
_CLAUDE_NAMES = {
    "terminal": ("Bash",),
    "file_editor": ("Edit", "MultiEdit", "Write"),
    "glob": ("Glob",),
    "grep": ("Grep",),
    "task_tracker": ("TodoWrite",),
}
_EVERYTHING = {"", "*"}


class HookDefinition(BaseModel):
    """A hook that runs at a certain point of a conversation. With the type `command`, the hook runs the shell
    command `command`. With the type `prompt`, the agent's model answers the question `prompt`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    type: Literal["command", "prompt"] = "command"
    command: str = ""
    prompt: str | None = None
    timeout: float = Field(default=60, gt=0, le=3600, description="Seconds")
    is_async: bool = Field(
        default=False,
        # The SDK sends this field as `async_`, the name of the field in its model.
        validation_alias=AliasChoices("async", "async_", "is_async"),
        serialization_alias="async",
        description="The run does not wait for it and ignores its result",
    )
    approved_files: dict[str, str] = Field(
        default={},
        exclude_if=lambda files: not files,
        description="SHA-256 by absolute path: it runs only while these files are what they were",
    )
    project_dir: str | None = Field(
        default=None,
        exclude_if=lambda directory: directory is None,
        description="The absolute path where it runs; without it, where the agent works",
    )

    @property
    def text(self) -> str:
        return self.command if self.type == "command" else self.prompt or self.command

    @model_validator(mode="after")
    def _says_what_to_do(self) -> "HookDefinition":
        if not self.text.strip() or "\0" in self.text:
            raise ValueError(f"a hook of type {self.type} needs a `{self.type}`")
        return self


class HookMatcher(BaseModel):
    """A group of hooks (commands, or questions to a model) that run for certain tools. `matcher`: the name of
    a tool, a regular expression for tool names, or `*` for all tools.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    matcher: str = "*"
    hooks: list[HookDefinition] = []

    @field_validator("matcher", mode="after")
    @classmethod
    def _is_pattern(cls, matcher: str) -> str:
        try:
            re.compile(_pattern(matcher))
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return matcher

    def fits(self, tool_name: str | None) -> bool:
        """Returns whether the hooks of this group run for the tool with this name. If `tool_name` is None,
        because no tool is called at this point of the conversation, always returns True.
        """
        if tool_name is None or self.matcher in _EVERYTHING:
            return True
        names = (tool_name, *_CLAUDE_NAMES.get(tool_name, ()))
        return self.matcher in names or any(re.fullmatch(_pattern(self.matcher), name) for name in names)


class HookConfig(BaseModel):
    """The hooks of a conversation (commands, or questions to a model), by the point of the conversation at
    which they run. A configuration with an unknown point is refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pre_tool_use: list[HookMatcher] = []
    post_tool_use: list[HookMatcher] = []
    user_prompt_submit: list[HookMatcher] = []
    session_start: list[HookMatcher] = []
    session_end: list[HookMatcher] = []
    stop: list[HookMatcher] = []

    @model_validator(mode="before")
    @classmethod
    def _in_one_spelling(cls, value: Any) -> Any:
        return spelled(value) if isinstance(value, dict) else value

    @property
    def is_empty(self) -> bool:
        return not any(self.of(point, None) for point in HookPoint)

    def of(self, point: HookPoint, tool_name: str | None) -> list[HookDefinition]:
        """Returns the hooks (commands, or questions to a model) that run at this point of the conversation,
        in order. `tool_name`: the name of the called tool; None if no tool is called at this point.
        """
        matchers: list[HookMatcher] = getattr(self, FIELDS[point])
        return [hook for matcher in matchers if matcher.fits(tool_name) for hook in matcher.hooks]


def spelled(config: JsonObject) -> JsonObject:
    """Converts a hook configuration to the form that HookConfig expects, and returns it. If the configuration
    has a key `hooks` with an object, uses only this object. Renames the names of points, such as
    `PreToolUse`, to the field names of HookConfig, such as `pre_tool_use`. Keeps all other keys unchanged.
    """
    inner = config.get("hooks", config)
    if not isinstance(inner, dict):
        return config
    names: dict[str, str] = {point.value: name for point, name in FIELDS.items()}
    return {names.get(str(key), str(key)): value for key, value in inner.items()}


def known_points(config: JsonObject) -> JsonObject:
    """Returns the hook configuration without hooks for unknown points of a conversation. A configuration file
    that several programs share may contain hooks for points that Slipway does not know.
    """
    return {key: value for key, value in spelled(config).items() if key in FIELDS.values()}


def _pattern(matcher: str) -> str:
    if matcher in _EVERYTHING:
        return ".*"
    return (
        matcher[1:-1] if len(matcher) > 2 and matcher.startswith("/") and matcher.endswith("/") else matcher
    )
