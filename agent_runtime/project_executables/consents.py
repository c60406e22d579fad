"""Reads the user's consents from the request that starts a conversation: for each project, the hashes of the
offers that may run.
"""

from collections.abc import Sequence
from pathlib import Path

from agent_runtime.events.base import JsonObject
from agent_runtime.plugins.plugin import PluginError
from agent_runtime.tools.mcp.config import named_servers
from agent_runtime.wire import Offer, ProjectConsent, StartConversationRequest


class UnknownProjectError(PluginError):
    """The directory is not one of the conversation's further projects."""

    code = "project_not_in_conversation"


def further_projects(request: StartConversationRequest) -> list[Path]:
    """Returns the directories of the further projects as the client wrote them, without duplicates."""
    named = (request.agent.get("agent_context") or {}).get("further_projects") or []
    own = Path(request.workspace.working_dir).resolve()
    return [one for one in dict.fromkeys(map(Path, named)) if one.resolve() != own]


def project_named(request: StartConversationRequest, directory: str | None) -> Path:
    """Returns the directory of one of the conversation's projects. `directory`: one of the further projects;
    None means the conversation's own project. Raises UnknownProjectError.
    """
    if directory is None:
        return Path(request.workspace.working_dir)
    if Path(directory) not in further_projects(request):
        raise UnknownProjectError(f"{directory} is not one of the conversation's further projects.")
    return Path(directory)


def consents_of(request: StartConversationRequest) -> list[tuple[Path, Sequence[str]]]:
    """Returns each project with the hashes of its offers that may run. The conversation's own project comes
    first. Raises UnknownProjectError.
    """
    return [
        (Path(request.workspace.working_dir), request.consent),
        *((project_named(request, one.project_dir), one.hashes) for one in request.further_consent),
    ]


def consent_to(request: StartConversationRequest, project: Path) -> Sequence[str]:
    """Returns the hashes of this project's offers that may run."""
    return [one for place, hashes in consents_of(request) if place == project for one in hashes]


def with_consents(
    request: StartConversationRequest, consents: Sequence[tuple[Path, Sequence[str]]]
) -> StartConversationRequest:
    """Returns the request with these consents in place of its earlier consents. Projects without a hash and
    repeated hashes are left out.
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


def is_name_taken(offer: Offer, agent: JsonObject) -> bool:
    """Returns whether the offer is an MCP server with the same name as another server of the agent. `agent`:
    the agent's specification.
    """
    return offer.kind == "mcp_server" and offer.name in named_servers(agent.get("mcp_config") or {})
