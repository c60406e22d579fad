"""Loads a plugin from its directory: skills, commands, MCP servers, hooks and sub-agents.

The layout of the directory is the same in several coding agents: a manifest in `.plugin/` or
`.claude-plugin/`, then `skills/`, `commands/`, `agents/`, `hooks/hooks.json` and `.mcp.json`, all optional.
Loading a plugin executes nothing.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_runtime.context.skill_file import parse
from agent_runtime.context.skill_inputs import SkillInput
from agent_runtime.context.skills import Skill
from agent_runtime.context.sub_agents import SubAgent, parse_agent, unused_parts
from agent_runtime.events.base import JsonObject
from agent_runtime.plugins.sub_agent_parts import checked
from agent_runtime.workspace.front_matter import UnusableFileError, read_text

MANIFESTS = (".plugin/plugin.json", ".claude-plugin/plugin.json")
MAX_FILES = 500
MAX_LISTED_FILES = 2_000

_Made = TypeVar("_Made")
_ARGUMENTS = re.compile(r"\$ARGUMENTS\b")
# Where other agents put the directory of a plugin into the commands of its hooks and servers.
_ROOT_VARIABLES = re.compile(r"\$\{?(?:CLAUDE_)?PLUGIN_ROOT\}?")


class PluginError(Exception):
    """The error that is raised when a plugin (skills, hooks, sub-agents and MCP servers) cannot be loaded.
    The text tells users the reason. `code` identifies the reason for programs.
    """

    code = "plugin_unusable"


class PluginNotFoundError(PluginError):
    """The error that is raised when there is no plugin with the given name."""

    code = "plugin_not_found"


class TrustGrantRequiredError(PluginError):
    """The error that is raised when a plugin in the project's repository is requested by its name. Such a
    plugin runs only after the user has approved it. The approval applies to the hash of the plugin's files.
    """

    code = "consent_required"


class PluginNotFetchedError(PluginError):
    """The error that is raised when a plugin could not be fetched from its source."""

    code = "plugin_not_fetched"


class Manifest(BaseModel):
    """A plugin's manifest file: its name, version and description. Unknown fields are stored unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    version: str = ""
    description: str = ""


@dataclass(frozen=True)
class Plugin:
    """A plugin that was loaded from a directory.

    `skills`: the plugin's skills, and the plugin's commands, which are converted to skills that a user calls
    with `/plugin:command`. `mcp_config`: the plugin's MCP servers by name; None if there are none.
    `hook_config`: the hook configuration as it is in the plugin's file; None if there is none. `agents`: the
    definitions of the plugin's sub-agents. `left_out`: texts about the parts that could not be loaded, with
    the reasons.
    """

    path: Path
    manifest: Manifest
    skills: tuple[Skill, ...] = ()
    mcp_config: JsonObject | None = None
    hook_config: JsonObject | None = None
    agents: tuple[SubAgent, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def commands(self) -> list[str]:
        return [skill.name for skill in self.skills if skill.name.startswith(f"{self.name}:")]

    def files(self) -> list[str]:
        """Returns the paths of the plugin's files, relative to its directory. At most MAX_LISTED_FILES paths
        are returned.
        """
        found = sorted(
            os.path.relpath(Path(directory, name), self.path)
            for directory, _, names in os.walk(self.path)
            for name in names
        )
        return [name for name in found if not name.startswith(".git/")][:MAX_LISTED_FILES]


def load(path: Path) -> Plugin:
    """Loads the plugin in a directory and returns it. Raises PluginError if the directory contains no plugin.
    Parts of the plugin that are not valid are left out.
    """
    manifest = _manifest(path)
    left_out: list[str] = []

    def each(files: Iterable[Path], make: Callable[[Path], _Made]) -> list[_Made]:
        made: list[_Made] = []
        for file in files:
            try:
                made.append(make(file))
            except UnusableFileError as error:
                left_out.append(f"{file.relative_to(path)}: {error}")
        return made

    skills = each(_skill_files(path / "skills"), lambda file: parse(file, read_text(file, path)))
    commands = each(_below(path / "commands"), lambda file: _command(file, path, manifest.name))
    found = each(_below(path / "agents"), lambda file: parse_agent(file, read_text(file, path), "user"))
    agents: list[SubAgent] = []
    for one in found:
        agent, reasons = checked(one)
        agents.append(agent)
        left_out += [f"agents/{agent.name}: {reason}" for reason in (*unused_parts(one), *reasons)]
    servers = each(_there(path / ".mcp.json"), lambda file: _json(file, path))
    hooks = each(_there(path / "hooks" / "hooks.json"), lambda file: _json(file, path))
    return Plugin(
        path=path,
        manifest=manifest,
        skills=(*skills, *commands),
        mcp_config=servers[0] if servers else None,
        hook_config=hooks[0] if hooks else None,
        agents=tuple(agents),
        left_out=tuple(left_out),
    )


def is_plugin(path: Path) -> bool:
    return any((path / manifest).is_file() for manifest in MANIFESTS)


def _manifest(path: Path) -> Manifest:
    found = next((file for name in MANIFESTS if (file := path / name).is_file()), None)
    if found is None:
        raise PluginError(f"There is no plugin in {path.name}: it has none of {', '.join(MANIFESTS)}.")
    try:
        return Manifest.model_validate(_json(found, path))
    except UnusableFileError as error:
        raise PluginError(f"Its {found.name} cannot be used: {error}.") from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise PluginError(f"Its {found.name} cannot be used: `{where}`: {problem['msg']}.") from error


def _command(file: Path, root: Path, plugin: str) -> Skill:
    """Converts a plugin's command to a skill that a user calls with `/plugin:command`. The words that the
    user writes after this name replace `$ARGUMENTS` in the skill's text. `file`: the command's Markdown file.
    `root`: the plugin's directory. `plugin`: the plugin's name.
    """
    skill = parse(file, read_text(file, root))
    name = f"{plugin}:{'/'.join(file.relative_to(root / 'commands').with_suffix('').parts)}"
    return skill.model_copy(
        update={
            "name": name,
            "type": "knowledge",
            "triggers": (f"/{name}",),
            "content": _ARGUMENTS.sub("${ARGUMENTS}", skill.content),
            "inputs": (SkillInput(name="ARGUMENTS", required=False),),
        }
    )


def _json(file: Path, root: Path) -> JsonObject:
    text = _ROOT_VARIABLES.sub(lambda _: str(root), read_text(file, root))
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnusableFileError("it is not valid JSON") from error
    if not isinstance(value, dict):
        raise UnusableFileError("it is not a JSON object")
    return value


def _there(file: Path) -> list[Path]:
    return [file] if os.path.lexists(file) else []


def _below(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.md"))[:MAX_FILES] if directory.is_dir() else []


def _skill_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(file for one in directory.iterdir() if (file := one / "SKILL.md").is_file())[:MAX_FILES]
