"""Reads the definitions of sub-agents: definitions in files of the project, definitions in files of the user,
and built-in definitions.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_runtime.events.base import JsonObject
from agent_runtime.tools.mcp.config import named_servers
from agent_runtime.workspace.front_matter import (
    UnusableFileError,
    is_utf8,
    read_text,
    split,
    text_of,
    texts,
)

Level = Literal["project", "user", "builtin"]

DIRECTORIES = (".agents/agents", ".openhands/agents", ".claude/agents")
BUILT_IN = Path(__file__).parent / "agents"
MAX_FILES = 200

_EXAMPLE = re.compile(r"<example>\s*(.*?)\s*</example>", re.DOTALL)
_NAMED = {
    "name", "description", "model", "color", "tools", "skills", "permission_mode", "max_iteration_per_run",
    "max_budget_per_run",
}  # fmt: skip
_OWN_PARTS = ("hooks", "mcp_servers", "mcpServers", "mcp_config")
"""The fields of a sub-agent's definition that contain commands to run. Such a field may be used only if the
user has agreed. This module does not check this; the code that uses the fields checks it.
"""
MAX_VALUES = 2_000


class SubAgent(BaseModel):
    """The definition of a sub-agent, read from a file or from a request.

    `tools`, `skills`: the names of the sub-agent's tools and skills; if one of these lists is empty, the
    sub-agent gets the tools or skills of the agent that starts it. `level`: where the definition comes from,
    such as the project or the user. `metadata`: the fields of the file's front matter that this class does
    not define.
    """

    model_config = ConfigDict(frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,63}$")
    description: str = ""
    model: str = "inherit"
    color: str | None = None
    tools: list[str] = []
    skills: list[str] = []
    system_prompt: str = ""
    when_to_use_examples: list[str] = []
    permission_mode: str | None = None
    max_iteration_per_run: int | None = Field(default=None, ge=1)
    max_budget_per_run: float | None = Field(default=None, gt=0)
    mcp_config: dict[str, Any] | None = None
    mcp_servers: dict[str, Any] | None = None
    profile_store_dir: str | None = None
    hooks: dict[str, Any] | None = None
    condenser: dict[str, Any] | None = None
    metadata: dict[str, Any] = {}
    level: Level
    source: str
    is_builtin: bool = False

    @property
    def own_servers(self) -> JsonObject:
        """The configuration of the MCP servers that this definition gives the sub-agent, by name."""
        return named_servers(self.mcp_servers or self.mcp_config or {})

    @property
    def runs_commands(self) -> bool:
        return bool(self.hooks or self.own_servers)

    def without_commands(self) -> "SubAgent":
        return self.model_copy(update={"hooks": None, "mcp_servers": None, "mcp_config": None})


class LeftOut(BaseModel):
    """A report that a file with the definition of a sub-agent, or a part of this file, was not used.
    `reason`: why it was not used.
    """

    path: str
    reason: str


def find_sub_agents(
    projects: Sequence[Path], home: Path | None, *, with_built_in: bool = True
) -> tuple[list[SubAgent], list[LeftOut]]:
    """Returns the definitions of all available sub-agents, and a list of the files that were not used or were
    used only in part. The order is: definitions of the projects in the order of `projects`, definitions of
    the user, built-in definitions. Of several definitions with the same name, only the first is returned.

    `projects`: the directories of the projects. `home`: the user's home directory; None means that
    definitions of the user are left out. `with_built_in`: whether built-in definitions are included. Files
    that are not valid are skipped. The function blocks its thread while it reads the files, at most MAX_FILES
    per directory.
    """
    found: dict[str, SubAgent] = {}
    left_out: list[LeftOut] = []
    for path, root, level in _files(projects, home, with_built_in=with_built_in):
        try:
            agent = parse_agent(path, read_text(path, root), level)
        except UnusableFileError as error:
            left_out.append(LeftOut(path=str(path), reason=str(error)))
            continue
        first = found.setdefault(agent.name, agent)
        if first is not agent:
            reason = f"{first.source} has the same name and comes first"
            left_out.append(LeftOut(path=str(path), reason=reason))
        left_out += [LeftOut(path=str(path), reason=reason) for reason in unused_parts(agent)]
    return list(found.values()), left_out


def _files(
    projects: Sequence[Path], home: Path | None, *, with_built_in: bool
) -> Iterator[tuple[Path, Path, Level]]:
    roots: list[tuple[Path, Level]] = [(project, "project") for project in projects]
    roots += [(home, "user")] if home else []
    locations = [(root / name, root, level) for root, level in roots for name in DIRECTORIES]
    if with_built_in:
        locations.append((BUILT_IN, BUILT_IN, "builtin"))
    for directory, root, level in locations:
        for path in sorted(directory.glob("*.md"))[:MAX_FILES]:
            yield path, root, level


def unused_parts(agent: SubAgent) -> list[str]:
    """Returns one message for each field of the definition that is ignored because its content does not have
    the right form. Only the fields for hooks and MCP servers are checked.
    """
    return [
        f"`{field}` in its front matter is not used: it does not name its parts, or there are too many"
        for field in _OWN_PARTS
        if field in agent.metadata
    ]


def parse_agent(path: Path, text: str, level: Level) -> SubAgent:
    """Parses the definition of a sub-agent from the text of a file. `level`: where the file comes from, such
    as the project or the user. Raises UnusableFileError if the file is not valid.
    """
    matter, body = split(text)
    description = text_of(matter.get("description"), "description") or ""
    parts = {field: part for field in _OWN_PARTS if isinstance(part := _plain(matter.get(field)), dict)}
    given = {
        "name": text_of(matter.get("name"), "name") or path.stem,
        "description": _EXAMPLE.sub("", description).strip(),
        "model": text_of(matter.get("model"), "model") or "inherit",
        "color": text_of(matter.get("color"), "color"),
        "tools": _names(matter, "tools"),
        "skills": _names(matter, "skills"),
        "system_prompt": body,
        "when_to_use_examples": _EXAMPLE.findall(description),
        "permission_mode": text_of(matter.get("permission_mode"), "permission_mode"),
        "max_iteration_per_run": matter.get("max_iteration_per_run"),
        "max_budget_per_run": matter.get("max_budget_per_run"),
        "hooks": parts.get("hooks"),
        "mcp_servers": parts.get("mcp_servers") or parts.get("mcpServers") or parts.get("mcp_config"),
        "metadata": {
            str(key): str(_plain(value)) for key, value in matter.items() if key not in {*_NAMED, *parts}
        },
        "level": level,
        "source": str(path),
        "is_builtin": level == "builtin",
    }
    try:
        return SubAgent.model_validate(given)
    except ValidationError as error:
        where = ", ".join(f"`{part}`" for problem in error.errors() for part in problem["loc"])
        raise UnusableFileError(f"{where} in its front matter is not valid") from error


def _plain(value: object) -> Any:
    """Converts a YAML value to a JSON value. Returns None if the value contains types that JSON does not
    have, or more than MAX_VALUES values. The limit is needed because a few lines of YAML can describe a list
    with a billion members.
    """
    remaining_values = MAX_VALUES

    def copy(one: object) -> Any:
        nonlocal remaining_values
        remaining_values -= 1
        if remaining_values < 0:
            raise _NotPlainError
        match one:
            case dict():
                return {copy(key): copy(below) for key, below in one.items()}
            case list():
                return [copy(below) for below in one]
            case str() if not is_utf8(one):
                raise _NotPlainError
            case None | str() | int() | float():
                return one
            case _:
                raise _NotPlainError

    try:
        return copy(value)
    except (_NotPlainError, RecursionError, TypeError):  # TypeError: keys that are lists
        return None


class _NotPlainError(Exception):
    pass


def _names(matter: dict[str, Any], field: str) -> list[str]:
    """Returns the list of names in a front matter field. The field contains a list, or one text with commas
    between the names (some other coding agents use this form).
    """
    given = matter.get(field)
    parts = given.split(",") if isinstance(given, str) else texts(given, field)
    return [name for part in parts if (name := part.strip())]
