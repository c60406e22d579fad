"""Translates tool names in a sub-agent's definition to the names of the tools of Slipway (this product).
Definitions may use the names of other programs, such as Claude Code. Has no side effects.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent_runtime.tools.registry import ToolSpec, resolve_name

_ELSEWHERE: Mapping[str, Sequence[str]] = {
    "Agent": ("task_tool_set",),
    "Bash": ("terminal",),
    "Edit": ("edit",),
    "Glob": ("glob",),
    "Grep": ("grep",),
    "LS": ("list_directory",),
    "MultiEdit": ("edit",),
    "NotebookEdit": ("file_editor",),
    "Read": ("read_file",),
    "Task": ("task_tool_set",),
    "TodoWrite": ("task_tracker",),
    "WebFetch": ("browser_tool_set",),
    "WebSearch": ("browser_tool_set",),
    "Write": ("write_file",),
    "task": ("task_tool_set",),
}
"""Maps tool names of other programs to tools of this runtime. Files in `.claude/agents` use these tool names.
The tools of this runtime can do the work of the other program's tool, and little more.
"""

ALWAYS_THERE = {"finish", "think", "FinishTool", "ThinkTool"}


@dataclass(frozen=True)
class Equipment:
    """The tools that a sub-agent gets.

    `missing`: tool names in the sub-agent's definition that match no known tool.
    """

    tools: tuple[ToolSpec, ...]
    missing: tuple[str, ...] = ()


def equip(names: Sequence[str], own: Sequence[ToolSpec], available: Collection[str]) -> Equipment:
    """Returns the tools that a sub-agent gets for the tool names in its definition, and the names that match
    no known tool. `names`: the names in the definition. `own`: the tools of the agent that starts the
    sub-agent, with their parameters. `available`: the names of all known tools.
    """
    known = {spec.name: spec for spec in own}
    wanted = dict.fromkeys(
        (name, meant) for name in names if name not in ALWAYS_THERE for meant in _ELSEWHERE.get(name, (name,))
    )
    found: dict[str, ToolSpec] = {}
    missing: list[str] = []
    for name, meant in wanted:
        resolved = meant if meant in known else resolve_name(meant)
        if resolved in known or resolved in available:
            found[resolved] = known.get(resolved) or ToolSpec(name=resolved)
        else:
            missing.append(name)
    return Equipment(tuple(found.values()), tuple(missing))
