"""The way from a sandbox to a model: the sandbox's user pays, with a key that the sandbox never sees."""

from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Request, Response

from app_server.config import Config
from app_server.database import Database
from app_server.encryption import Cipher
from app_server.errors import BadRequest
from app_server.llm_gateway import paid_call
from app_server.llm_gateway.caller import require_caller
from app_server.llm_gateway.pass_through import pass_through
from app_server.llm_gateway.recorded import replay
from app_server.llm_gateway.spending import Payer
from app_server.llm_gateway.translate import translate
from app_server.llm_gateway.vendors import PassThrough, Recorded, Translated, vendor_of
from app_server.sandboxes.auth import CurrentSandbox
from app_server.sandboxes.models import Sandbox
from app_server.settings.models import LLMProfile
from app_server.settings.profiles import get_profile
from app_server.users.models import User
from app_server.users.outgoing import guard_of, http_of, require_callable

router = APIRouter(prefix="/llm", tags=["LLM gateway"])


@router.post("/{profile_name}/conversations/{conversation_id}/v1/chat/completions")
async def complete_in_conversation(
    profile_name: str, conversation_id: UUID, sandbox: CurrentSandbox, request: Request
) -> Response:
    """A call of one of the sandbox's conversations."""
    return await _complete(profile_name, conversation_id, sandbox, request)


@router.post("/{profile_name}/v1/chat/completions")
async def complete(profile_name: str, sandbox: CurrentSandbox, request: Request) -> Response:
    """A call of the conversation that the sandbox was made for."""
    return await _complete(profile_name, sandbox.id, sandbox, request)


async def _complete(profile_name: str, conversation_id: UUID, sandbox: Sandbox, request: Request) -> Response:
    database: Database = request.state.database
    # Closed before the vendor is asked: a reply may take minutes.
    async with database.brief_read() as session:
        profile = await get_profile(session, sandbox.user_id, profile_name)
        caller = await require_caller(request.state.llm_caller_of, session, sandbox, conversation_id)
    user, working_dir = caller.user, caller.working_dir or "."
    content = await request.body()
    body = _object_of(content)
    if profile.is_recording:
        return await _ask(profile, user, body, request, working_dir=working_dir)
    body, payer = _with_usage(body), Payer(sandbox.user_id, conversation_id)
    paid = await paid_call.begin(request.state.spending, payer, profile, body, len(content))
    try:
        response = await _ask(profile, user, body, request, working_dir=working_dir)
    except BaseException:
        paid.failed()
        raise
    return paid.metered(response)


async def _ask(
    profile: LLMProfile, user: User, body: dict[str, Any], request: Request, *, working_dir: str
) -> Response:
    """Raises Forbidden `private_address` where a member has named a server beside this one."""
    config: Config = request.state.config
    cipher: Cipher = request.state.cipher
    api_key = cipher.decrypt(profile.api_key_encrypted) if profile.api_key_encrypted else None
    match vendor_of(profile.model, profile.base_url):
        case Recorded(name):
            return replay(name, body, working_dir=working_dir)
        case PassThrough() as vendor:
            return await pass_through(
                http_of(request, user) if profile.base_url else request.state.http,
                vendor,
                body,
                api_key=api_key,
                headers=request.headers,
                timeout_seconds=config.llm_timeout_seconds,
            )
        case Translated() as vendor:
            if vendor.base_url:
                await require_callable(request, user, vendor.base_url)
            return await translate(
                vendor,
                body,
                api_key=api_key,
                timeout_seconds=config.llm_timeout_seconds,
                guard=guard_of(request, user) if vendor.base_url else None,
            )


def _with_usage(body: dict[str, Any]) -> dict[str, Any]:
    """The request, asking that a stream states what was used: without it nobody could say what it cost."""
    if not body.get("stream"):
        return body
    options = body.get("stream_options")
    asked = options if isinstance(options, dict) else {}
    return {**body, "stream_options": {**asked, "include_usage": True}}


def _object_of(content: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}.", code="malformed_json") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.", code="malformed_json")
    return body
