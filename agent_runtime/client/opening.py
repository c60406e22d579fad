"""Functions that a Conversation uses when it is created: they connect it to the engine that runs its agent,
convert configurations to JSON, and select the project's executables that may run.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from agent_runtime.agent.agent import Agent
from agent_runtime.client.in_process import InProcess
from agent_runtime.client.link import Link
from agent_runtime.client.local_workspace import LocalWorkspace
from agent_runtime.client.on_server import OnServer
from agent_runtime.client.remote_workspace import RemoteWorkspace
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.events.base import JsonObject
from agent_runtime.wire import ProjectExecutable, StartConversationRequest


def link_to(
    workspace: LocalWorkspace | RemoteWorkspace,
    conversation_id: UUID,
    agent: Agent,
    request: StartConversationRequest,
    persistence_dir: str | Path | None,
) -> Link:
    """Returns the link of a conversation to the engine that runs its agent: in this process, or on the server
    of a RemoteWorkspace.

    Raises ConversationError `tool_not_found` if the workspace is on a server, and the agent has a tool that
    the server cannot import. Raises ValueError if the workspace is on a server and `persistence_dir` is
    given.
    """
    if not isinstance(workspace, RemoteWorkspace):
        return InProcess(conversation_id, agent, request, Path(persistence_dir) if persistence_dir else None)
    _check_importable(agent)
    if persistence_dir is not None:
        raise ValueError("persistence_dir is for local conversations: a server keeps its own.")
    return OnServer(
        conversation_id,
        agent,
        request,
        host=workspace.host,
        api_key=workspace.api_key,
        patience_seconds=workspace.patience_seconds,
    )


def dumped(given: BaseModel | Mapping[str, Any] | None) -> JsonObject | None:
    """Converts a model object or a mapping to a JSON object with the field names of the REST API. Returns
    None if `given` is None.
    """
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return None if given is None else dict(given)


def consented(
    consent: Callable[[ProjectExecutable], bool] | Sequence[str], workspace: LocalWorkspace | RemoteWorkspace
) -> list[str]:
    """Returns the hashes of the project's executables (such as hooks and MCP servers) that may run.

    `consent`: a list of these hashes, which is returned unchanged, or a function that decides for each
    executable. The function gets an executable and returns whether it may run. It is not called for an
    executable that has a `problem`, because such an executable may not run.
    """
    if not callable(consent):
        return list(consent)
    return [
        executable.hash
        for executable in workspace.executables()
        if executable.problem is None and consent(executable)
    ]


def _check_importable(agent: Agent) -> None:
    for tool in agent.tools:
        if tool.name.startswith("__main__:"):
            raise ConversationError(
                "tool_not_found",
                f"The tool {tool.name} is a part of this program, and a server cannot import it.",
                "Put it into a module that is installed where the agent server runs.",
            )
