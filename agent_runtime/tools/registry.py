"""Lists the tools that exist, and creates the tools of a conversation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_runtime.tools.apply_patch import ApplyPatchTool
from agent_runtime.tools.browser.chromium import find_chromium
from agent_runtime.tools.browser.tools import browser_tools
from agent_runtime.tools.external.custom import ToolLoadError, import_name, installed_names, load_tool
from agent_runtime.tools.file_editor.tool import FileEditorTool
from agent_runtime.tools.finish import FinishTool
from agent_runtime.tools.gemini.edit import EditTool
from agent_runtime.tools.gemini.list_directory import ListDirectoryTool
from agent_runtime.tools.gemini.read_file import ReadFileTool
from agent_runtime.tools.gemini.write_file import WriteFileTool
from agent_runtime.tools.glob import GlobTool
from agent_runtime.tools.grep import GrepTool
from agent_runtime.tools.jupyter.tool import JupyterTool, missing_modules
from agent_runtime.tools.planning_file_editor import PlanningFileEditorTool
from agent_runtime.tools.start_child_conversation import StartChildConversationTool
from agent_runtime.tools.task import TaskTool
from agent_runtime.tools.task_tracker import TaskTrackerTool
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.think import ThinkTool
from agent_runtime.tools.tool import AnyTool, ToolContext
from agent_runtime.tools.view_image import ViewImageTool

# Names of tools in other products, with the tools that they mean here.
ALIASES: Mapping[str, str] = {
    "bash": "terminal",
    "browser": "browser_tool_set",
    "browser_use": "browser_tool_set",
    "BrowserToolSet": "browser_tool_set",
    "command": "terminal",
    "execute": "terminal",
    "execute_bash": "terminal",
    "reset": "terminal",
    "str_replace": "file_editor",
    "str_replace_editor": "file_editor",
}
# Every agent has these, whatever its specs say.
BUILT_IN = ("finish", "think")


class ToolNotFoundError(Exception):
    """The error that is raised when a tool does not exist on this server or cannot be used. The text says
    what to do.
    """


class ToolSpec(BaseModel):
    """The specification of a tool as data: the tool's name and its parameters."""

    model_config = ConfigDict(frozen=True)

    name: str
    params: dict[str, JsonValue] = {}

    @classmethod
    def of(cls, tool: type[AnyTool], **params: JsonValue) -> "ToolSpec":
        """Returns the specification (name and parameters) of a tool class. `params`: the keyword arguments of
        its constructor.

        Raises ValueError if the class cannot be imported by its name.
        """
        return cls(name=import_name(tool), params=params)


class NamedSpec(Protocol):
    """The interface of objects from which `create_tools` creates tools. ToolSpec has this interface, and so
    may classes of other modules. `name`: the name of the tool. `params`: the keyword arguments with which the
    tool is created.
    """

    @property
    def name(self) -> str: ...
    @property
    def params(self) -> dict[str, JsonValue]: ...


Factory = Callable[..., AnyTool]

_FACTORIES: Mapping[str, Factory] = {
    "apply_patch": ApplyPatchTool,
    "edit": EditTool,
    "execute_ipython_cell": JupyterTool,
    "file_editor": FileEditorTool,
    "finish": lambda _: FinishTool(),
    "glob": GlobTool,
    "grep": GrepTool,
    "list_directory": ListDirectoryTool,
    "planning_file_editor": PlanningFileEditorTool,
    "read_file": ReadFileTool,
    "start_child_conversation": StartChildConversationTool,
    "task_tool_set": TaskTool,
    "task_tracker": TaskTrackerTool,
    "terminal": TerminalTool,
    "think": lambda _: ThinkTool(),
    "view_image": ViewImageTool,
    "write_file": WriteFileTool,
}

BROWSER = "browser_tool_set"
_SETS: Mapping[str, Callable[[ToolContext], Sequence[AnyTool]]] = {BROWSER: browser_tools}
"""Groups of tools that are created together, under one name."""
_HAS_ITS_NEEDS: Mapping[str, Callable[[], bool]] = {
    BROWSER: lambda: find_chromium() is not None,
    "execute_ipython_cell": lambda: not missing_modules(),
}

# Parameters of specs that mean something here. Clients send more, which is ignored.
_PARAMS: Mapping[str, Mapping[str, type]] = {
    "planning_file_editor": {"plan_path": str},
    "terminal": {"sessions": int},
}


def tool_names() -> list[str]:
    """Returns the names of all tools, sorted: the runtime's tools and the tools of other installed Python
    packages.
    """
    return sorted({*_FACTORIES, *_SETS, *installed_names()})


def usable_tool_names() -> list[str]:
    """Returns the names of the tools whose requirements (such as an installed browser) this machine meets.
    The tools are not created for this check, so the creation of a listed tool may still fail.
    """
    return [name for name in tool_names() if name not in _HAS_ITS_NEEDS or _HAS_ITS_NEEDS[name]()]


def resolve_name(name: str) -> str:
    """Returns the registered name for `name`, which may be an alias. Returns an unknown name unchanged."""
    return name if name in _FACTORIES or name in _SETS else ALIASES.get(name, name)


def create_tools(
    specs: Iterable[NamedSpec], context: ToolContext, modules: Mapping[str, str] | None = None
) -> dict[str, AnyTool]:
    """Creates the tools that are named in `specs`, and the tools that every agent has. Returns the tools by
    name, in the order of `specs`, followed by the tools that every agent has.

    `modules`: the Python modules that define tools which are not part of the runtime, by tool name; None
    means no such modules. Raises ToolNotFoundError if a tool does not exist or cannot be loaded, or if two
    different tools have the same name.
    """
    tools: dict[str, AnyTool] = {}
    for spec in [*specs, *(ToolSpec(name=name) for name in BUILT_IN)]:
        for tool in _create(spec, context, modules or {}):
            known = tools.setdefault(tool.name, tool)
            if type(known) is not type(tool):
                raise ToolNotFoundError(f"Two different tools are named {tool.name}: leave one of them out.")
    return tools


def _create(spec: NamedSpec, context: ToolContext, modules: Mapping[str, str]) -> Sequence[AnyTool]:
    name = resolve_name(spec.name)
    if factory := _FACTORIES.get(name):
        return [_make(name, factory, context, spec.params)]
    if tool_set := _SETS.get(name):
        return _make_set(name, tool_set, context)
    try:
        tool = load_tool(name, spec.params, context, modules)
    except ToolLoadError as error:
        raise ToolNotFoundError(str(error)) from error
    if tool is None:
        existing = ", ".join(tool_names())
        raise ToolNotFoundError(f"There is no tool named {name}. Tools that exist: {existing}.")
    return [tool]


def _make_set(
    name: str, tool_set: Callable[[ToolContext], Sequence[AnyTool]], context: ToolContext
) -> Sequence[AnyTool]:
    try:
        return tool_set(context)
    except ValueError as error:
        raise ToolNotFoundError(f"The tools of {name} cannot be used: {error}") from error


def _make(name: str, factory: Factory, context: ToolContext, given: Mapping[str, JsonValue]) -> AnyTool:
    types = _PARAMS.get(name, {})
    params = {key: value for key, value in given.items() if key in types and value is not None}
    for key, value in params.items():
        if type(value) is not types[key]:
            wanted = {str: "a text", int: "a whole number"}[types[key]]
            raise ToolNotFoundError(f"The parameter `{key}` of the tool {name} must be {wanted}.")
    try:
        return factory(context, **params)
    except ValueError as error:
        raise ToolNotFoundError(f"The tool {name} cannot be used: {error}") from error
