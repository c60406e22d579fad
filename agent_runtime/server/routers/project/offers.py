"""Shows what a project contains that would run, and takes the user's consent to it."""

import asyncio
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from pydantic import ValidationError

from agent_runtime.conversation.add_plugin import take_up
from agent_runtime.project_executables.approved import ApprovedExecutables
from agent_runtime.project_executables.discover import find_executables
from agent_runtime.server.errors import ServerProblem, invalid
from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.state import Found
from agent_runtime.wire import ConsentRequest, OffersRequest, OffersResponse

router = Router(prefix="/api", tags=["offers"])


async def _approved(request: Request) -> ApprovedExecutables:
    approved: ApprovedExecutables = request.app.state.approved_executables
    return approved


Approved = Annotated[ApprovedExecutables, Depends(_approved)]


@router.post("/offers")
async def find(wanted: OffersRequest, request: Request) -> OffersResponse:
    """Returns the scripts, hooks, MCP servers, sub-agents and plugins of a project in full.

    Runs none of them.
    """
    directory = Path(wanted.project_dir) if wanted.project_dir else request.app.state.config.workspace_path
    if not directory.is_absolute():
        raise ServerProblem(422, "validation_failed", "project_dir must be an absolute path.")
    return OffersResponse(offers=await asyncio.to_thread(find_executables, directory))


@router.get("/conversations/{conversation_id}/offers")
async def of_conversation(conversation: Found) -> OffersResponse:
    """Returns what the conversation's project offers now, and the hashes to which consent was given."""
    offers = await asyncio.to_thread(find_executables, conversation.spec.working_dir)
    return OffersResponse(offers=offers, consented=conversation.spec.request.consent)


@router.post(
    "/conversations/{conversation_id}/consent",
    responses={
        409: {"description": "The project does not offer this, or not any more"},
        422: {"description": "It cannot be used"},
    },
)
async def consent(conversation: Found, given: ConsentRequest, approved: Approved) -> OffersResponse:
    """Adds the hooks, MCP servers, sub-agents and plugins with these hashes to the conversation.

    409 if the project does not offer one of them in this version.
    """
    try:
        await take_up(conversation, approved, given.hashes)
    except ValidationError as error:
        raise invalid(error, "offer") from error
    return await of_conversation(conversation)
