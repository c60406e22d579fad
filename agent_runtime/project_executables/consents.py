"""Reads the user's consents from the request that starts a conversation: for each project, the hashes of the
project executables (hooks, MCP servers and so on) that may run.
"""

from collections.abc import Sequence
from pathlib import Path

from agent_runtime.events.base import JsonObject
from agent_runtime.plugins.plugin import PluginError
from agent_runtime.tools.mcp.config import named_servers
from agent_runtime.wire import ProjectConsent, ProjectExecutable, StartConversationRequest


class UnknownProjectError(PluginError):
    """The error that is raised when a directory is not one of the additional repositories of the
    conversation.
    """

    code = "project_not_in_conversation"


def further_projects(request: StartConversationRequest) -> list[Path]:
    """Returns the directories of the conversation's additional repositories, as they are written in the
    request, without duplicates.
    """
    named = (request.agent.get("agent_context") or {}).get("further_projects") or []
    own = Path(request.workspace.working_dir).resolve()
    return [one for one in dict.fromkeys(map(Path, named)) if one.resolve() != own]


def project_named(request: StartConversationRequest, directory: str | None) -> Path:
    """Returns the directory of one of the conversation's repositories. `directory`: an additional repository;
    None means the conversation's main repository. Raises UnknownProjectError if `directory` is not an
    additional repository of the conversation.
    """
    if directory is None:
        return Path(request.workspace.working_dir)
    if Path(directory) not in further_projects(request):
        raise UnknownProjectError(f"{directory} is not one of the conversation's further projects.")
    return Path(directory)


def consents_of(request: StartConversationRequest) -> list[tuple[Path, Sequence[str]]]:
    """Returns, for each project of the conversation, a pair: the directory of the project, and the hashes of
    its executables (hooks, MCP servers and so on) that the user has allowed to run. The conversation's main
    repository comes first. An additional repository is in the result only if the request contains a consent
    for it. Raises UnknownProjectError if the request contains a consent for a directory that is not a
    repository of the conversation.
    """
    return [
        (Path(request.workspace.working_dir), request.consent),
        *((project_named(request, one.project_dir), one.hashes) for one in request.further_consent),
    ]


def consent_to(request: StartConversationRequest, project: Path) -> Sequence[str]:
    """Returns the hashes of those executables (hooks, MCP servers and so on) of the project that the user has
    allowed to run. Returns an empty list if there are none.
    """
    return [one for path, hashes in consents_of(request) if path == project for one in hashes]


def with_consents(
    request: StartConversationRequest, consents: Sequence[tuple[Path, Sequence[str]]]
) -> StartConversationRequest:
    """Returns a copy of the request that contains these consents and no others. `consents`: pairs of a
    project's directory and the hashes of the project's executables (hooks and so on) that may run.

    The hashes of the same project are joined, and repeated hashes are left out. An additional repository
    without hashes is left out.
    """
    merged: dict[Path, dict[str, None]] = {}
    for project, hashes in consents:
        merged.setdefault(project, {}).update(dict.fromkeys(hashes))
    own = list(merged.pop(Path(request.workspace.working_dir), {}))
    further = [
        ProjectConsent(project_dir=str(project), hashes=list(hashes))
        for project, hashes in merged.items()
        if hashes
    ]
    return request.model_copy(update={"consent": own, "further_consent": further})


def is_name_taken(executable: ProjectExecutable, agent: JsonObject) -> bool:
    """Returns whether the project executable is an MCP server and the agent already has another MCP server
    with the same name. `agent`: the agent's configuration.
    """
    return executable.kind == "mcp_server" and executable.name in named_servers(agent.get("mcp_config") or {})
