"""Routes through which programs in a sandbox call the model of one conversation. A program authenticates with
the model key of the conversation.

A call needs two keys: the program's model key and the session key of the sandbox. The program sends the call,
with the model key, to the agent server in the sandbox. The agent server adds the session key and forwards the
call to these routes. Programs do not know the session key.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import PROGRAM_KEY_HEADER
from app_server.core.database import Database
from app_server.core.errors import AppError, BadRequest, NotAuthenticated
from app_server.levels.resolution import LevelValue
from app_server.llm_gateway import router as calls
from app_server.llm_gateway.call_quotas import quota_of_calls
from app_server.llm_gateway.caller import Caller
from app_server.llm_gateway.limits.spending import Payer
from app_server.llm_gateway.load_limits import CallCapacity
from app_server.llm_gateway.protocols.messages_reply import error_reply
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.auth import CurrentSandbox
from app_server.settings.models import LLMProfile
from app_server.settings.profile_lookup import callable_profile
from app_server.teams.repositories.first_team import put_team_of_sandbox_first
from app_server.users.tokens import token_hash


@dataclass(frozen=True)
class Program:
    """A program in a sandbox that calls a model. `conversation_id`: the id of the conversation that the
    program's model key belongs to. `caller`: the data of this conversation, whose user pays for the program's
    calls. `profile_name`: the name of the conversation's model profile (a saved model with its options).
    """

    conversation_id: UUID
    profile_name: str
    caller: Caller


ProgramOf = Callable[[AsyncSession, Sandbox, str], Awaitable[Program | None]]
"""A function that finds the program by the hash of its model key. It returns None if the key is unknown, has
expired, or belongs to another sandbox.
"""


class _MessagesRoute(APIRoute):
    """The class of the routes in Anthropic's protocol. Their errors have the JSON format that Anthropic's
    packages read.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except AppError as error:
                return error_reply(error)
            except RequestValidationError as error:
                wrong = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
                return error_reply(BadRequest("; ".join(wrong[:10]), code="validation_failed"))

        return handled


router = APIRouter(prefix="/programs/v1", tags=["LLM gateway"])
messages_router = APIRouter(prefix="/programs/v1", tags=["LLM gateway"], route_class=_MessagesRoute)


@router.get("/models")
async def list_models(sandbox: CurrentSandbox, request: Request) -> dict[str, Any]:
    """Lists the models that a program in a sandbox can call with its model key. This is only the model of the
    conversation that the key belongs to. The reply has the fields that the packages of OpenAI and of
    Anthropic read.
    """
    program, profile, _ = await _program(sandbox, request)
    created = program.caller.user.created_at
    model = {
        "id": profile.name,
        "object": "model",
        "created": int(created.timestamp()),
        "owned_by": "slipway",
        "type": "model",
        "display_name": profile.model,
        "created_at": created.isoformat(),
    }
    ends = {"first_id": profile.name, "last_id": profile.name, "has_more": False}
    return {"object": "list", "data": [model], **ends}


@router.post("/chat/completions")
async def complete(sandbox: CurrentSandbox, request: Request) -> Response:
    """Sends a chat completion for a program in a sandbox to the conversation's model. Returns the model's
    reply.
    """
    return await _call(calls.completion, sandbox, request)


@router.post("/responses")
async def respond(sandbox: CurrentSandbox, request: Request) -> Response:
    """Sends a call in OpenAI's Responses protocol for a program in a sandbox to the conversation's model and
    returns the reply. 400 `model_protocol_unsupported` for models that do not support this protocol.
    """
    return await _call(calls.response, sandbox, request)


@messages_router.post("/messages")
async def send_message(sandbox: CurrentSandbox, request: Request) -> Response:
    """Sends a call in Anthropic's Messages protocol for a program in a sandbox to the conversation's model
    and returns the reply. Every model can be called in this protocol.

    400 `vendor_tool_refused` if the call contains a tool that the vendor runs. 400 `unknown_model_input` if
    an image or document has a form that is not allowed. 400 `unknown_model_field` if the call has a field
    that is not allowed.
    """
    return await _call(calls.message, sandbox, request)


@messages_router.post("/messages/count_tokens")
async def count_tokens(sandbox: CurrentSandbox, request: Request) -> Response:
    """Returns the number of input tokens of a call in Anthropic's Messages protocol as `{"input_tokens": …}`,
    without making the call. For Anthropic's own models, Anthropic counts the tokens. For other models, the
    number is estimated.

    400 `vendor_tool_refused` if the call contains a tool that the vendor runs. 400 `unknown_model_input` if
    an image or document has a form that is not allowed. 400 `unknown_model_field` if the call has a field
    that is not allowed.
    """
    return await _call(calls.counted, sandbox, request)


async def _call(paid: calls.Paid, sandbox: Sandbox, request: Request) -> Response:
    program, profile, quota = await _program(sandbox, request)
    payer = Payer(sandbox.user_id, program.conversation_id, is_program=True)
    room: CallCapacity = request.state.model_call_capacity
    async with room.slot(sandbox.id, sandbox.user_id, quota) as slot:
        return slot.released_after(await paid(slot, payer, profile, program.caller, request))


async def _program(sandbox: Sandbox, request: Request) -> tuple[Program, LLMProfile, LevelValue | None]:
    """Finds out, by the model key in the request, which program sends the request. Returns the program, its
    model profile (the saved model with its options), and the user's quota for the number of parallel calls
    (None if there is no limit).

    Raises NotAuthenticated `model_key_invalid` if the key is wrong, has expired or was revoked.
    """
    key = request.headers.get(PROGRAM_KEY_HEADER) or request.headers.get("x-api-key", "")
    database: Database = request.state.database
    find: ProgramOf = request.state.program_of
    async with database.brief_read() as session:
        program = await find(session, sandbox, token_hash(key))
        if program is None:
            raise NotAuthenticated(
                "This model key is wrong, has expired or was revoked.",
                code="model_key_invalid",
                fix="Make a new model key for the conversation.",
            )
        await put_team_of_sandbox_first(session, sandbox.id)
        profile = await callable_profile(session, sandbox.user_id, program.profile_name)
        return program, profile, await quota_of_calls(session, sandbox.user_id, program.caller, profile)
