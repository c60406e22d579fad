"""Finds the executables of a project: the parts that run commands, such as scripts, hooks, MCP servers and
plugins. The type `ProjectExecutable` describes one executable. The module only reads files. Its functions
block, but only for a limited time.

Instructions (AGENTS.md, skills, sub-agents without commands) are not executables. They are texts that the
agent reads.
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from agent_runtime.context.sub_agents import SubAgent, find_sub_agents, unused_parts
from agent_runtime.events.base import JsonObject
from agent_runtime.hooks.config import HookConfig, known_points
from agent_runtime.hooks.discover import FILES, HooksFileError, read_hooks
from agent_runtime.plugins.plugin import Plugin, PluginError, is_plugin, load
from agent_runtime.plugins.store import DIRECTORIES
from agent_runtime.plugins.sub_agent_parts import checked, fault
from agent_runtime.project_executables.command_files import MAX_FILES, Files, UnreadableExecutableError
from agent_runtime.tools.mcp.config import McpServer, named_servers
from agent_runtime.wire import ExecutableKind, ProjectExecutable
from agent_runtime.workspace.front_matter import is_utf8

SETUP_SCRIPTS = (".agents/setup.sh", ".openhands/setup.sh")
GIT_HOOKS = (".agents/pre-commit.sh", ".openhands/pre-commit.sh")
MCP_FILE = ".mcp.json"
_PLUGIN_PARTS = (".plugin", ".claude-plugin", "skills", "commands", "agents", "hooks", MCP_FILE)
"""The files and directories that belong to the plugin if the repository itself is a plugin. All other files
in the repository belong to the project.
"""


def find_executables(project: Path) -> list[ProjectExecutable]:
    """Returns the descriptions of all executables of the project: the setup script and the script for git
    hooks, then the hooks, MCP servers, sub-agents and plugins. The field `problem` of a description is set if
    the user cannot consent to the executable, for example because its files cannot be read in full.
    """
    if not project.is_dir():
        return []
    project = project.resolve()
    return [
        *_first_script(project, "setup_script", SETUP_SCRIPTS, "."),
        *_first_script(project, "git_hook", GIT_HOOKS, "bash"),
        *_hooks(project),
        *_mcp_servers(project),
        *_sub_agents(project),
        *_plugins(project),
    ]


def _first_script(
    project: Path, kind: ExecutableKind, names: tuple[str, ...], command: str
) -> Iterator[ProjectExecutable]:
    name = next((one for one in names if os.path.lexists(project / one)), None)
    if name is not None:
        yield _executable(project, kind, name, name, own=[project / name], runs=[f"{command} {name}"])


def _hooks(project: Path) -> Iterator[ProjectExecutable]:
    for name in FILES:
        try:
            config = read_hooks(project, name)
        except HooksFileError as error:
            yield ProjectExecutable.of("hooks", name, name, files=[], problem=str(error))
            return
        if config is not None:
            definition = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            yield _executable(project, "hooks", name, name, runs=_hook_texts(config), definition=definition)
            return


def _mcp_servers(project: Path) -> Iterator[ProjectExecutable]:
    try:
        servers = _mcp_file(project)
    except UnreadableExecutableError as error:
        yield ProjectExecutable.of("mcp_server", MCP_FILE, MCP_FILE, files=[], problem=str(error))
        return
    for name, definition in servers.items():
        try:
            runs = _server_texts(McpServer.model_validate(definition))
        except ValidationError as error:
            yield ProjectExecutable.of("mcp_server", MCP_FILE, name, files=[], problem=fault(error))
        else:
            yield _executable(project, "mcp_server", MCP_FILE, name, runs=runs, definition=definition)


def _mcp_file(project: Path) -> dict[str, Any]:
    file = project / MCP_FILE
    if not os.path.lexists(file):
        return {}
    try:
        content = orjson.loads(Files(project).add(file))
    except orjson.JSONDecodeError as error:
        raise UnreadableExecutableError(f"{MCP_FILE} is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise UnreadableExecutableError(f"{MCP_FILE} is not a JSON object.")
    return named_servers(content)


def _sub_agents(project: Path) -> Iterator[ProjectExecutable]:
    """Yields a description of each sub-agent that has hooks or MCP servers with commands. Consent covers the
    sub-agent's whole file, because every part of the file can affect how the commands run.
    """
    agents, _ = find_sub_agents([project], None, with_built_in=False)
    for agent, reasons in map(checked, agents):
        if agent.runs_commands:
            file = Path(agent.source)
            yield _executable(
                project,
                "sub_agent",
                os.path.relpath(file, project),
                agent.name,
                own=[file],
                runs=_sub_agent_texts(agent),
                left_out=[*unused_parts(agent), *reasons],
            )


def _plugins(project: Path) -> Iterator[ProjectExecutable]:
    for plugin_directory in _plugin_directories(project):
        if is_plugin(plugin_directory):
            yield _plugin(project, plugin_directory)


def _plugin_directories(project: Path) -> Iterator[Path]:
    yield project
    for name in DIRECTORIES:
        if (project / name).is_dir():
            yield from sorted(path for path in (project / name).iterdir() if is_utf8(path.name))


def _plugin(project: Path, plugin_directory: Path) -> ProjectExecutable:
    path = os.path.relpath(plugin_directory, project)
    try:
        plugin = load(plugin_directory)
        runs = _plugin_texts(plugin)
    except PluginError as error:
        return ProjectExecutable.of("plugin", path, plugin_directory.name, files=[], problem=str(error))
    except ValidationError as error:
        return ProjectExecutable.of("plugin", path, plugin_directory.name, files=[], problem=fault(error))
    try:
        own = _files_of(plugin_directory, is_project=plugin_directory == project)
    except UnreadableExecutableError as error:
        return ProjectExecutable.of("plugin", path, plugin.name, files=[], problem=str(error))
    # The path of the plugin is not part of its content, so the hash must not depend on it.
    shown = [text.replace(str(plugin_directory), "${PLUGIN_ROOT}") for text in runs]
    return _executable(project, "plugin", path, plugin.name, own=own, runs=shown, left_out=plugin.left_out)


def _files_of(plugin_directory: Path, *, is_project: bool) -> list[Path]:
    tops = [plugin_directory / part for part in _PLUGIN_PARTS] if is_project else [plugin_directory]
    found: list[Path] = []
    for top in tops:
        if top.is_file():
            found.append(top)
        for directory, directories, names in os.walk(top):
            directories[:] = sorted(name for name in directories if name != ".git")
            linked = [name for name in directories if Path(directory, name).is_symlink()]
            found += [Path(directory, name) for name in [*names, *linked]]
            if len(found) > MAX_FILES:
                raise UnreadableExecutableError(f"It consists of more than {MAX_FILES} files.")
    return found


def _executable(
    project: Path,
    kind: ExecutableKind,
    path: str,
    name: str,
    *,
    own: Sequence[Path] = (),
    runs: list[str],
    definition: JsonObject | None = None,
    left_out: Sequence[str] = (),
) -> ProjectExecutable:
    files = Files(project)
    problem = None
    try:
        files.add_with_named(own, runs)
    except UnreadableExecutableError as error:
        problem = str(error)
    return ProjectExecutable.of(
        kind,
        path,
        name,
        files=files.listed(),
        definition=definition,
        runs=runs,
        left_out=left_out,
        problem=problem,
    )


def _hook_texts(config: HookConfig) -> list[str]:
    return list(
        dict.fromkeys(
            hook.text
            for field in HookConfig.model_fields
            for matcher in getattr(config, field)
            for hook in matcher.hooks
        )
    )


def _server_texts(server: McpServer) -> list[str]:
    """Returns the text that shows the user what an MCP server runs, in a list of one item. The text is the
    server's command as typed in a shell, with its directory (`cd`) and its environment variables, because
    these also affect what runs. If the server has no command, the text is its URL.
    """
    if server.command is None:
        return [server.url or ""]
    variables = [f"{name}={shlex.quote(value)}" for name, value in server.env.items()]
    line = " ".join([*variables, shlex.join([server.command, *server.args])])
    return [f"cd {shlex.quote(server.cwd)} && {line}" if server.cwd else line]


def _plugin_texts(plugin: Plugin) -> list[str]:
    texts: list[str] = []
    if plugin.hook_config:
        texts += _hook_texts(HookConfig.model_validate(known_points(plugin.hook_config)))
    for definition in named_servers(plugin.mcp_config or {}).values():
        texts += _server_texts(McpServer.model_validate(definition))
    return [*texts, *(text for agent in plugin.agents for text in _sub_agent_texts(agent))]


def _sub_agent_texts(agent: SubAgent) -> list[str]:
    """Returns the commands that the hooks and MCP servers of the sub-agent run. `agent`: the definition of
    the sub-agent, from which the parts that are not valid were already removed.
    """
    servers = (_server_texts(McpServer.model_validate(one)) for one in agent.own_servers.values())
    hooks = _hook_texts(HookConfig.model_validate(known_points(agent.hooks or {})))
    return [*hooks, *(text for texts in servers for text in texts)]
