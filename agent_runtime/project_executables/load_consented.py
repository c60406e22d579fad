"""Adds a project's executables (its hooks, MCP servers and other parts that run commands) to a conversation
after the user's consent. The type `ProjectExecutable` describes one executable. An executable is added in the
same way as a plugin that a client's request contains.

The approved files are copied byte for byte, so that later edits in the project do not change them. Commands
may still use files of the project. Each of these files is compared with the approved hash right before the
command runs.
"""

import asyncio
import hashlib
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from agent_runtime.context.sub_agents import SubAgent, parse_agent
from agent_runtime.events.base import JsonObject
from agent_runtime.hooks.config import HookConfig, known_points
from agent_runtime.plugins.apply import with_plugins
from agent_runtime.plugins.plugin import Manifest, Plugin, PluginError, load
from agent_runtime.plugins.sub_agent_parts import checked
from agent_runtime.project_executables.consents import (
    consents_of,
    further_projects,
    is_name_taken,
    with_consents,
)
from agent_runtime.project_executables.discover import find_executables
from agent_runtime.tools.mcp.config import named_servers
from agent_runtime.wire import ExecutableFile, ProjectExecutable, StartConversationRequest
from agent_runtime.workspace.front_matter import UnusableFileError, read_text

_DESCRIPTION = "offer.json"
_CONTENT = "content"


class ExecutableChangedError(PluginError):
    """The error that is raised when an executable of the project (a hook, an MCP server and so on) to which
    the user consented has changed or no longer exists.
    """

    code = "offer_changed"


class ApprovedExecutables:
    """The store of the project executables (hooks, MCP servers and so on) to which users have consented. The
    object also adds them to the requests that start conversations.

    `directory`: the directory with the approved files, in subdirectories by project and hash.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def expand(self, request: StartConversationRequest) -> StartConversationRequest:
        """Returns a copy of the request that also contains the project executables (hooks, MCP servers and so
        on) whose hashes the request lists as approved. Reads the files that the projects have now, and stores
        a copy of them.

        Leaves out an executable that has changed or no longer exists, and an MCP server if the agent has
        another MCP server with the same name. The hashes of left-out executables are removed from the
        request. Raises UnknownProjectError if a listed project is not a repository of the conversation.
        """
        taken: list[tuple[Path, list[str]]] = []
        for project, hashes in consents_of(request):
            used: list[str] = []
            for executable in await asyncio.to_thread(find_executables, project) if hashes else []:
                if (
                    executable.hash in hashes
                    and _is_loadable(executable)
                    and not is_name_taken(executable, request.agent)
                ):
                    directory = _commands_directory(project, request)
                    plugin = await asyncio.to_thread(self._take, executable, project, directory)
                    request = with_plugins(request, [plugin])
                    used.append(executable.hash)
            taken.append((project, used))
        return with_consents(request, taken)

    async def take(
        self, request: StartConversationRequest, project: Path, hashes: Collection[str]
    ) -> list[tuple[ProjectExecutable, Plugin]]:
        """Stores the files of those executables of one project that have these hashes. They must be hooks,
        MCP servers, sub-agents or plugins. Returns a pair for each of these executables: its description, and
        its content in the form of a plugin.

        `request`: the request that started the conversation. `project`: the directory of the project. Raises
        ExecutableChangedError if one of the hashes belongs to no such executable of the project; in this
        case, nothing is stored. Raises PluginError if the user cannot consent to one of the executables.
        """
        executables = {each.hash: each for each in await asyncio.to_thread(find_executables, project)}
        unknown = [one for one in hashes if one not in executables or not _is_loadable(executables[one])]
        if unknown:
            raise ExecutableChangedError(f"The project does not offer this now: {', '.join(unknown)}.")
        wanted = [executable for executable in executables.values() if executable.hash in hashes]
        directory = _commands_directory(project, request)
        return [
            (executable, await asyncio.to_thread(self._take, executable, project, directory))
            for executable in wanted
        ]

    async def again(self, request: StartConversationRequest) -> StartConversationRequest:
        """Returns a copy of the request that also contains the project executables (hooks, MCP servers and so
        on) to which the user has consented. Reads the files that were stored at the time of the consent,
        while `expand` reads the files that the project has now.

        Raises ExecutableChangedError if a stored file is missing or damaged.
        """
        plugins = [
            await asyncio.to_thread(
                _load_stored, self._home(project, one), project, _commands_directory(project, request)
            )
            for project, hashes in consents_of(request)
            for one in hashes
        ]
        return with_plugins(request, plugins)

    def _take(self, executable: ProjectExecutable, project: Path, directory: Path | None) -> Plugin:
        if executable.problem is not None:
            raise PluginError(f"{executable.path} cannot be consented to: {executable.problem}")
        home = self._home(project, executable.hash)
        if not home.exists():
            _copy(executable, project, home)
        return _load_stored(home, project, directory)

    def _home(self, project: Path, hash_: str) -> Path:
        return self._directory / hashlib.sha256(str(project).encode()).hexdigest()[:16] / hash_


def _commands_directory(project: Path, request: StartConversationRequest) -> Path | None:
    """Returns the directory in which commands of the project run. Returns None for the conversation's main
    project, whose commands run in the conversation's working directory.
    """
    return project if project in further_projects(request) else None


def _is_loadable(executable: ProjectExecutable) -> bool:
    """Returns True for the project executables that are loaded when a conversation starts: hooks, MCP
    servers, sub-agents and plugins. Returns False for scripts, because they run only when the workspace is
    prepared.
    """
    return executable.kind in {"hooks", "mcp_server", "sub_agent", "plugin"}


def _copy(executable: ProjectExecutable, project: Path, home: Path) -> None:
    """Copies the files of a project executable (a part of a repository that can run commands, such as a hook)
    to the directory `home`: either all files or none. Does not change `home` if it already exists. `project`:
    the directory of the project. Raises ExecutableChangedError if a file differs from the approved content or
    cannot be copied.
    """
    fresh = home.with_name(f".{uuid4().hex}")
    try:
        for file in executable.files:
            source, target = project / file.path, fresh / _CONTENT / file.path
            content = source.read_bytes()
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise ExecutableChangedError(f"{file.path} has changed while it was looked at.")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(source.stat().st_mode & 0o777 | 0o600)
        fresh.mkdir(parents=True, exist_ok=True)
        (fresh / _DESCRIPTION).write_text(executable.model_dump_json())
        if not home.exists():
            fresh.rename(home)
    except OSError as error:
        raise ExecutableChangedError(f"{executable.path} cannot be kept: {error.strerror}.") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@dataclass(frozen=True)
class _Terms:
    """The conditions for the commands of a project executable. A project executable is a part of a repository
    that can run commands, such as a hook or an MCP server. `files`: the files that must not change, as a
    mapping. Each key is the absolute path of a file that the commands read. The value is the SHA-256 hash of
    the content that the user has approved. `working_dir`: the directory where the commands run; None means
    the conversation's working directory.
    """

    files: Mapping[str, str]
    working_dir: Path | None


def _load_stored(home: Path, project: Path, directory: Path | None) -> Plugin:
    """Returns the stored project executable (a part of a repository that can run commands, such as a hook) as
    a plugin. `home`: the directory of its stored files. `directory`: the directory where its commands run;
    None means the conversation's working directory. Raises ExecutableChangedError if the stored files are
    missing or damaged.
    """
    try:
        executable = ProjectExecutable.model_validate_json((home / _DESCRIPTION).read_bytes())
    except (OSError, ValidationError) as error:
        raise ExecutableChangedError("What was consented to is not kept here any more.") from error
    terms = _Terms(_guard(executable, home / _CONTENT, project.resolve()), directory)
    if executable.kind == "plugin":
        plugin = load(home / _CONTENT / executable.path)
    elif executable.kind == "sub_agent":
        plugin = _with_sub_agent(home / _CONTENT / executable.path, project)
    else:
        is_server = executable.kind == "mcp_server"
        plugin = Plugin(
            path=project,
            manifest=Manifest(name="repository"),
            mcp_config={executable.name: executable.definition} if is_server else None,
            hook_config=None if is_server else executable.definition,
        )
    return replace(
        plugin,
        mcp_config=_guarded_servers(plugin.mcp_config, terms),
        hook_config=_guarded_hooks(plugin.hook_config, terms),
        agents=tuple(_guarded_agent(agent, terms) for agent in plugin.agents),
    )


def _with_sub_agent(file: Path, project: Path) -> Plugin:
    """Returns a plugin whose only part is the sub-agent that the file defines. Raises ExecutableChangedError
    if the file cannot be used.

    The level of a sub-agent says where its definition comes from. Hooks and MCP servers of a sub-agent with
    the level `project` would be removed. This sub-agent gets the level `user`, because the user has seen and
    approved the file.
    """
    try:
        agent, _ = checked(parse_agent(file, read_text(file, file.parent), "user"))
    except UnusableFileError as error:
        raise ExecutableChangedError(f"{file.name} cannot be used: {error}.") from error
    return Plugin(path=project, manifest=Manifest(name="repository"), agents=(agent,))


def _guard(executable: ProjectExecutable, copy: Path, project: Path) -> dict[str, str]:
    """Returns the files that must not change before a command of the executable runs: the hash of each file,
    by its absolute path. `copy`: the directory with the copies of the approved files. `project`: the
    project's directory.

    The path depends on where commands read the file. Commands read the files of a plugin in `copy`, and all
    other files in `project`. If the whole project is a plugin, both paths are returned. The file that defines
    a sub-agent is left out, because it was read from `copy` and is not read again.
    """
    located_files: list[tuple[Path, ExecutableFile]] = []
    for file in executable.files:
        if executable.kind == "sub_agent" and file.path == executable.path:
            continue  # it counts as it was copied
        is_own = executable.kind == "plugin" and (copy / file.path).is_relative_to(copy / executable.path)
        if is_own:
            located_files.append((copy, file))
        if not is_own or executable.path == ".":
            located_files.append((project, file))
    return {str(directory / file.path): file.sha256 for directory, file in located_files}


def _guarded_agent(agent: SubAgent, terms: _Terms) -> SubAgent:
    servers = _guarded_servers(agent.own_servers, terms) if agent.own_servers else None
    parts = {"hooks": _guarded_hooks(agent.hooks, terms), "mcp_servers": servers, "mcp_config": None}
    return agent.model_copy(update=parts)


def _guarded_servers(config: JsonObject | None, terms: _Terms) -> JsonObject | None:
    if config is None:
        return None
    return {name: _guarded_server(server, terms) for name, server in named_servers(config).items()}


def _guarded_server(server: JsonObject, terms: _Terms) -> JsonObject:
    guarded = {**server, "approved_files": dict(terms.files)}
    if terms.working_dir is not None and server.get("command") is not None:
        guarded["cwd"] = str(terms.working_dir / (server.get("cwd") or ""))
    return guarded


def _guarded_hooks(config: JsonObject | None, terms: _Terms) -> JsonObject | None:
    if config is None:
        return None
    hooks = HookConfig.model_validate(known_points(config))
    project_dir = None if terms.working_dir is None else str(terms.working_dir)
    update = {"approved_files": dict(terms.files), "project_dir": project_dir}
    guarded = {
        field: [
            matcher.model_copy(update={"hooks": [one.model_copy(update=update) for one in matcher.hooks]})
            for matcher in getattr(hooks, field)
        ]
        for field in HookConfig.model_fields
    }
    return HookConfig(**guarded).model_dump(mode="json", by_alias=True, exclude_defaults=True)
