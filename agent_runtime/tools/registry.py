"""Which tools exist, and how a conversation gets its own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_runtime.tools.file_editor.tool import FileEditorTool
from agent_runtime.tools.finish import FinishTool
from agent_runtime.tools.task_tracker import TaskTrackerTool
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.think import ThinkTool
from agent_runtime.tools.tool import AnyTool, ToolContext

# Names that models use out of habit from other products, and whom they mean here.
ALIASES: Mapping[str, str] = {
    "bash": "terminal",
    "command": "terminal",
    "execute": "terminal",
    "execute_bash": "terminal",
    "git": "terminal",
    "reset": "terminal",
    "str_replace": "file_editor",
    "str_replace_editor": "file_editor",
}
# Every agent has these, whatever its specs say.
BUILT_IN = ("finish", "think")


class ToolNotFoundError(Exception):
    """A tool was asked for by a name that nobody here has. The text lists the names that exist."""


class ToolSpec(BaseModel):
    """A tool as data: its name and its parameters."""

    model_config = ConfigDict(frozen=True)

    name: str
    params: dict[str, JsonValue] = {}


class NamedSpec(Protocol):
    """Whatever names a tool as ToolSpec does, such as the model of a request."""

    @property
    def name(self) -> str: ...
    @property
    def params(self) -> dict[str, JsonValue]: ...


Factory = Callable[[ToolContext], AnyTool]

_FACTORIES: Mapping[str, Factory] = {
    "file_editor": FileEditorTool,
    "finish": lambda _: FinishTool(),
    "task_tracker": TaskTrackerTool,
    "terminal": TerminalTool,
    "think": lambda _: ThinkTool(),
}


def tool_names() -> list[str]:
    """Every name that `create_tools` knows, sorted."""
    return sorted(_FACTORIES)


def resolve_name(name: str) -> str:
    """The registered name that `name` means, by itself or as a familiar alias; else `name` unchanged."""
    return name if name in _FACTORIES else ALIASES.get(name, name)


def create_tools(specs: Iterable[NamedSpec], context: ToolContext) -> dict[str, AnyTool]:
    """Tools by name, in the order asked for, then the built-in ones. ToolNotFoundError for unknown names."""
    names = [resolve_name(spec.name) for spec in specs]
    if unknown := [name for name in names if name not in _FACTORIES]:
        missing, known = ", ".join(unknown), ", ".join(tool_names())
        raise ToolNotFoundError(f"There is no tool named {missing}. Tools that exist: {known}.")
    return {name: _FACTORIES[name](context) for name in dict.fromkeys([*names, *BUILT_IN])}
