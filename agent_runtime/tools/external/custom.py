"""Loads tools that are not part of the runtime: classes of importable Python modules, and installed entry
points.
"""

import importlib
from collections.abc import Callable, Mapping
from importlib import metadata
from types import ModuleType

from pydantic import JsonValue

from agent_runtime.tools.tool import AnyTool, Tool, ToolContext

ENTRY_POINT_GROUP = "slipway.tools"


class ToolLoadError(Exception):
    """The error that is raised when a tool from outside the runtime cannot be loaded. The text says which
    tool and why.
    """


def load_tool(
    name: str, params: Mapping[str, JsonValue], context: ToolContext, modules: Mapping[str, str]
) -> AnyTool | None:
    """Creates a tool that is not part of the runtime, and returns it. Returns None if no tool with this name
    is known.

    `name`: `module:Class`, a tool name in `modules`, or the name of an installed entry point. `modules`: the
    name of the Python module that defines the tool, for each tool name.

    The tool is created by a call of its class or factory function. `context` is the positional argument of
    this call, and the entries of `params` are its keyword arguments.

    Raises ToolLoadError if the tool exists but cannot be imported or created.
    """
    try:
        make = _find(name, modules)
        tool = make and make(context, **params)
    except Exception as error:  # the code of others runs here, and may do anything
        raise ToolLoadError(f"The tool {name} cannot be loaded: {type(error).__name__}: {error}") from error
    if tool is not None and not isinstance(tool, Tool):
        raise ToolLoadError(f"The tool {name} cannot be used: it is not an agent_runtime.tools.tool.Tool.")
    return tool


def import_name(tool: type[AnyTool]) -> str:
    """Returns the import name of a tool class, `module:Class`. Raises ValueError if the class is not at the
    top level of its module.
    """
    if "." in tool.__qualname__:
        raise ValueError(f"{tool.__qualname__} must stand at the top of its module, to be found by import.")
    return f"{tool.__module__}:{tool.__name__}"


def installed_names() -> list[str]:
    return [entry.name for entry in metadata.entry_points(group=ENTRY_POINT_GROUP)]


def _find(name: str, modules: Mapping[str, str]) -> Callable[..., object] | None:
    if ":" in name:
        module, _, attribute = name.partition(":")
        found: Callable[..., object] = getattr(importlib.import_module(module), attribute)
        return found
    if name in modules:
        return _named(importlib.import_module(modules[name]), name)
    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP, name=name):
        loaded: Callable[..., object] = entry.load()
        return loaded
    return None


def _named(module: ModuleType, name: str) -> Callable[..., object]:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Tool) and getattr(value, "name", None) == name:
            return value
    raise AttributeError(f"module {module.__name__} has no tool of that name")
