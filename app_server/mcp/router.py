"""Routes of Slipway's own MCP server: `/mcp` for programs of users, and one address for the agent of each
conversation.
"""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response
from sqlalchemy import select

from app_server.access.authentication import CurrentPrincipal
from app_server.access.principal import Principal
from app_server.conversations.models import Conversation
from app_server.conversations.repositories.git_access import providers_with_token
from app_server.core.config import Config
from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.errors import Forbidden, NotFound
from app_server.core.server_objects import ServerConfig
from app_server.http.middleware import allowed_host_names
from app_server.llm_gateway.conversation_proof import is_proof
from app_server.mcp import agent_tools, conversations, issues, memory, pull_requests, web_search
from app_server.mcp.tool import McpTool
from app_server.mcp_broker.own_server import PREFIX
from app_server.sandboxes.auth import CurrentSandbox
from app_server.users.models import User

INSTRUCTIONS = (
    "Slipway runs coding agents in sandboxes. Start a conversation with a task, follow it with "
    "get_conversation_status, which says what it needs, answer with send_message or answer_confirmation, and "
    "read the result with read_messages and get_patch."
)

# Not part of the REST API: the protocol describes itself.
router = APIRouter(prefix="/mcp", tags=["MCP server"], include_in_schema=False)
inner_router = APIRouter(prefix=PREFIX, tags=["MCP server"])

for _tool in issues.TOOLS:
    agent_tools.add(_tool, issues.are_offered)


@router.post("")
@router.get("")
@router.delete("")
async def exchange(principal: CurrentPrincipal, config: ServerConfig, request: Request) -> Response:
    """Replies to one MCP request (streamable HTTP) that a program of the user sends. The request needs an API
    key. The scopes of the key decide which tools the program can list and call.

    403 `api_key_needed` if the request has a browser's cookie and no API key. 403 `origin_not_allowed` if a
    web page of another website sends the request.
    """
    if principal.credential.kind != "key":
        raise Forbidden(
            "The MCP server takes no cookies.",
            code="api_key_needed",
            fix="Create an API key in the settings and send it as `Authorization: Bearer KEY`.",
        )
    _require_own_origin(request, config)
    tools = _tools_for(config, principal)
    reply: Response = await request.state.mcp_for_programs.reply_to(request, tools)
    return reply


@inner_router.post("/{conversation_id}/{proof}")
@inner_router.get("/{conversation_id}/{proof}")
@inner_router.delete("/{conversation_id}/{proof}")
async def exchange_with_agent(
    sandbox: CurrentSandbox,
    conversation_id: UUID,
    proof: Annotated[str, Path(max_length=100)],
    config: ServerConfig,
    database: ServerDatabase,
    cipher: ServerCipher,
    request: Request,
) -> Response:
    """Replies to one MCP request (streamable HTTP) that the agent of a conversation sends. The request needs
    the session key (the secret with which a sandbox authenticates) of the sandbox in which the conversation
    runs. `proof`: a secret text that shows which conversation of the sandbox sends the request (see
    app_server.llm_gateway.conversation_proof).

    404 if the conversation is not in this sandbox or the proof is wrong.
    """
    query = (
        select(Conversation, User)
        .join(User, User.id == Conversation.user_id)
        .where(
            Conversation.id == conversation_id,
            Conversation.sandbox_id == sandbox.id,
            Conversation.user_id == sandbox.user_id,
            Conversation.deleted_at.is_(None),
        )
    )
    async with database.read() as session:
        row = (await session.execute(query)).one_or_none()
        providers = await providers_with_token(session, row[0]) if row else frozenset()
    if row is None or not is_proof(cipher, conversation_id, proof):
        raise NotFound("No such conversation in this sandbox.")
    conversation, user = row
    agent_tools.tell_agent(request, agent_tools.CallingAgent(user, conversation, sandbox))
    tools = agent_tools.tools_for(config, providers)
    reply: Response = await request.state.mcp_for_agents.reply_to(request, tools)
    return reply


def _tools_for(config: Config, principal: Principal) -> Sequence[McpTool]:
    offered = [*conversations.TOOLS, *pull_requests.TOOLS, *memory.TOOLS]
    if config.tavily_api_key is not None:
        offered.append(web_search.TOOL)
    return [one for one in offered if principal.may(one.permission)]


def _require_own_origin(request: Request, config: Config) -> None:
    """Raises Forbidden `origin_not_allowed` if a web page of another website sends the request, even if the
    request has an API key. Accepts a request without the header `Origin`, because such a request comes from a
    program and not from a web page.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        name = urlsplit(origin).hostname
    except ValueError:
        name = None
    if name not in allowed_host_names(config):
        raise Forbidden(
            "The MCP server does not answer pages of other addresses.",
            code="origin_not_allowed",
            fix="Call it from a program. An administrator can add a name to SLIPWAY_ALLOWED_HOSTS.",
        )
