"""Which tools exist, and how a conversation gets its own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_runtime.tools.apply_patch import ApplyPatchTool
from agent_runtime.tools.custom import ToolLoadError, installed_names, load_tool
from agent_runtime.tools.file_editor.tool import FileEditorTool
from agent_runtime.tools.finish import FinishTool
from agent_runtime.tools.gemini.edit import EditTool
from agent_runtime.tools.gemini.list_directory import ListDirectoryTool
from agent_runtime.tools.gemini.read_file import ReadFileTool
from agent_runtime.tools.gemini.write_file import WriteFileTool
from agent_runtime.tools.glob import GlobTool
from agent_runtime.tools.grep import GrepTool
from agent_runtime.tools.planning_file_editor import PlanningFileEditorTool
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
    """A tool was asked for that does not exist here or cannot be used. The text says what to do about it."""


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


Factory = Callable[..., AnyTool]

_FACTORIES: Mapping[str, Factory] = {
    "apply_patch": ApplyPatchTool,
    "edit": EditTool,
    "file_editor": FileEditorTool,
    "finish": lambda _: FinishTool(),
    "glob": GlobTool,
    "grep": GrepTool,
    "list_directory": ListDirectoryTool,
    "planning_file_editor": PlanningFileEditorTool,
    "read_file": ReadFileTool,
    "task_tracker": TaskTrackerTool,
    "terminal": TerminalTool,
    "think": lambda _: ThinkTool(),
    "write_file": WriteFileTool,
}


# Parameters of specs that mean something here, all of them text. Clients send more, which is ignored.
_PARAMS: Mapping[str, tuple[str, ...]] = {"planning_file_editor": ("plan_path",)}


def tool_names() -> list[str]:
    """The name of every tool that comes with the runtime or is installed, sorted."""
    return sorted({*_FACTORIES, *installed_names()})


def resolve_name(name: str) -> str:
    """The registered name that `name` means, by itself or as a familiar alias; else `name` unchanged."""
    return name if name in _FACTORIES else ALIASES.get(name, name)


def create_tools(
    specs: Iterable[NamedSpec], context: ToolContext, modules: Mapping[str, str] | None = None
) -> dict[str, AnyTool]:
    """Tools by name, in the order asked for, then the built-in ones.

    modules: where tools that do not come with the runtime are defined, by name.
    ToolNotFoundError for a tool that is not there or cannot be loaded.
    """
    tools: dict[str, AnyTool] = {}
    for spec in [*specs, *(ToolSpec(name=name) for name in BUILT_IN)]:
        tool = _create(spec, context, modules or {})
        known = tools.setdefault(tool.name, tool)
        if type(known) is not type(tool):
            raise ToolNotFoundError(f"Two different tools are named {tool.name}: leave one of them out.")
    return tools


def _create(spec: NamedSpec, context: ToolContext, modules: Mapping[str, str]) -> AnyTool:
    name = resolve_name(spec.name)
    if factory := _FACTORIES.get(name):
        known = _PARAMS.get(name, ())
        params = {key: value for key, value in spec.params.items() if key in known and isinstance(value, str)}
        return factory(context, **params)
    try:
        tool = load_tool(name, spec.params, context, modules)
    except ToolLoadError as error:
        raise ToolNotFoundError(str(error)) from error
    if tool is None:
        existing = ", ".join(tool_names())
        raise ToolNotFoundError(f"There is no tool named {name}. Tools that exist: {existing}.")
    return tool
