"""Routes for the executables of a project (called "offers" in the JSON of the API): its scripts, hooks, MCP
servers, sub-agents and plugins, which run only with the user's consent.
"""

import asyncio
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import ValidationError

from agent_runtime.conversation.add_plugin import take_up
from agent_runtime.project_executables.consents import consent_to, is_name_taken, project_named
from agent_runtime.project_executables.discover import find_executables
from agent_runtime.project_executables.load_consented import ApprovedExecutables
from agent_runtime.server.errors import ServerProblem, invalid
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import ConsentRequest, ExecutablesRequest, ExecutablesResponse

router = Router(prefix="/api", tags=["offers"])


async def _approved(request: Request) -> ApprovedExecutables:
    approved: ApprovedExecutables = request.app.state.approved_executables
    return approved


Approved = Annotated[ApprovedExecutables, Depends(_approved)]


@router.post("/offers")
async def find(wanted: ExecutablesRequest, request: Request) -> ExecutablesResponse:
    """Returns the scripts, hooks, MCP servers, sub-agents and plugins of a project, with their whole content.

    The request runs none of these executables.
    """
    directory = Path(wanted.project_dir) if wanted.project_dir else request.app.state.config.workspace_path
    if not directory.is_absolute():
        raise ServerProblem(422, "validation_failed", "project_dir must be an absolute path.")
    return ExecutablesResponse(offers=await asyncio.to_thread(find_executables, directory))


@router.get("/conversations/{conversation_id}/offers")
async def of_conversation(
    conversation: LoadedConversation,
    project_dir: Annotated[str | None, Query(min_length=1, max_length=4096)] = None,
) -> ExecutablesResponse:
    """Returns the executables (such as hooks and MCP servers) that a conversation's project contains now.
    Also returns the hashes of the executables that the conversation uses, because the user has consented to
    them.

    `project_dir`: the directory of an additional project of the conversation; without it, the project where
    the agent works.
    """
    request = conversation.spec.request
    project = project_named(request, project_dir)
    executables = await asyncio.to_thread(find_executables, project)
    consented = consent_to(request, project)
    taken = [
        one.hash for one in executables if one.hash not in consented and is_name_taken(one, request.agent)
    ]
    return ExecutablesResponse(offers=executables, consented=list(consented), name_taken=taken)


@router.post(
    "/conversations/{conversation_id}/consent",
    responses={
        409: {"description": "The project does not offer this, or not any more"},
        422: {"description": "It cannot be used"},
    },
)
async def consent(
    conversation: LoadedConversation, given: ConsentRequest, approved: Approved
) -> ExecutablesResponse:
    """Records the user's consent to executables of a project, and adds these executables to the conversation.
    The request contains their hashes. They can be hooks, MCP servers, sub-agents and plugins, but not
    scripts.

    An MCP server is not added if another server of the conversation has the same name. `name_taken` in the
    reply contains the hashes of the MCP servers that were not added for this reason. The reply is 409 if the
    project contains no such executable with one of the hashes.
    """
    try:
        await take_up(conversation, approved, given.hashes, given.project_dir)
    except ValidationError as error:
        raise invalid(error, "offer", is_body=False) from error
    return await of_conversation(conversation, given.project_dir)
