"""Routes through which a sandbox calls models. The sandbox's user pays, and the sandbox never sees the
vendor's key.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from app_server.core.database import Database
from app_server.core.errors import NotFound
from app_server.llm_gateway.call_quotas import quota_of_calls
from app_server.llm_gateway.caller import Caller, require_caller
from app_server.llm_gateway.charged_completions import completed, settled
from app_server.llm_gateway.conversation_proof import is_proof
from app_server.llm_gateway.forwarding import fields
from app_server.llm_gateway.forwarding.vendors import PassThrough, vendor_of
from app_server.llm_gateway.limits.spending import Payer
from app_server.llm_gateway.load_limits import CallCapacity, CallSlot
from app_server.llm_gateway.protocols import messages, native_messages, responses
from app_server.llm_gateway.protocols.messages_reply import MessagesReply
from app_server.llm_gateway.protocols.thinking import is_wanted
from app_server.llm_gateway.vendor_call import RESPONSES, ask, passed, with_usage
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.auth import CurrentSandbox
from app_server.settings.effective_values import effective
from app_server.settings.models import LLMProfile
from app_server.settings.profile_lookup import callable_profile
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

router = APIRouter(prefix="/llm", tags=["LLM gateway"])

Paid = Callable[[CallSlot, Payer, LLMProfile, Caller, Request], Awaitable[Response]]


@router.post("/{profile_name}/conversations/{conversation_id}/{proof}/v1/chat/completions")
async def complete_with_proof(
    profile_name: str, conversation_id: UUID, proof: str, sandbox: CurrentSandbox, request: Request
) -> Response:
    """Sends a chat completion for one of the sandbox's conversations and returns the reply. The app server
    gives each conversation a URL with a secret text (`proof`), which proves that the call comes from this
    conversation.
    """
    is_proven = is_proof(request.state.cipher, conversation_id, proof)
    return await _call(completion, profile_name, conversation_id, sandbox, request, is_proven=is_proven)


@router.post("/{profile_name}/conversations/{conversation_id}/{proof}/v1/responses")
async def respond_with_proof(
    profile_name: str, conversation_id: UUID, proof: str, sandbox: CurrentSandbox, request: Request
) -> Response:
    """Sends a call in OpenAI's Responses protocol for one of the sandbox's conversations and returns the
    reply. The vendor stores no data of the call. `proof`: the secret text that proves which conversation
    calls.

    400 `model_protocol_unsupported` for models that do not support this protocol.
    """
    is_proven = is_proof(request.state.cipher, conversation_id, proof)
    return await _call(response, profile_name, conversation_id, sandbox, request, is_proven=is_proven)


@router.post("/{profile_name}/conversations/{conversation_id}/v1/chat/completions")
async def complete_in_conversation(
    profile_name: str, conversation_id: UUID, sandbox: CurrentSandbox, request: Request
) -> Response:
    """Sends a chat completion for a conversation to the model of the profile and returns the reply. This URL
    is used only by conversations that were created before the URL contained a proof. A proof is a secret text
    that shows which conversation makes the call.

    403 `conversation_proof_missing` if other conversations also work in the sandbox.
    """
    return await _call(completion, profile_name, conversation_id, sandbox, request)


@router.post("/{profile_name}/v1/chat/completions")
async def complete(profile_name: str, sandbox: CurrentSandbox, request: Request) -> Response:
    """Sends a chat completion to the model of the profile and returns the reply. The URL names no
    conversation. Therefore the call counts as a call of the conversation for which the sandbox was created,
    and the user of this conversation pays.
    """
    return await _call(completion, profile_name, sandbox.id, sandbox, request)


async def _call(
    paid: Paid,
    profile_name: str,
    conversation_id: UUID,
    sandbox: Sandbox,
    request: Request,
    *,
    is_proven: bool = False,
) -> Response:
    """Checks which conversation makes the model call, waits for a slot (the permission for one model call),
    makes the call and returns the reply.

    `paid`: the function that sends the call in the protocol of the route and charges its cost to the user.
    `is_proven`: whether the URL of the request contains the secret text that proves which conversation calls.
    """
    database: Database = request.state.database
    # The session is closed before the vendor is called, because a reply may take minutes.
    async with database.brief_read() as session:
        await put_team_of_sandbox_first(session, sandbox.id)
        profile = await callable_profile(session, sandbox.user_id, profile_name)
        find = request.state.llm_caller_of
        caller = await require_caller(find, session, sandbox, conversation_id, is_proven=is_proven)
        quota = await quota_of_calls(session, sandbox.user_id, caller, profile)
    payer = Payer(sandbox.user_id, conversation_id)
    room: CallCapacity = request.state.model_call_capacity
    async with room.slot(sandbox.id, sandbox.user_id, quota) as slot:
        return slot.released_after(await paid(slot, payer, profile, caller, request))


async def completion(
    slot: CallSlot, payer: Payer, profile: LLMProfile, caller: Caller, request: Request
) -> Response:
    """Sends a model call in the protocol of chat completions and returns the reply. Every model can be called
    in this protocol. `slot`: the slot (permission) of the call, which is freed when the reply has ended.
    """
    user, working_dir = caller.user, caller.working_dir or "."
    body, size = await slot.body_of(request)
    vendor = vendor_of(profile.model, profile.base_url)
    fields.check(body, fields.CompatibleFields if isinstance(vendor, PassThrough) else fields.ChatFields)
    if profile.is_recording:
        return await ask(profile, user, body, request, working_dir=working_dir)
    return await completed(payer, profile, user, with_usage(body), size, request, working_dir=working_dir)


async def response(
    slot: CallSlot, payer: Payer, profile: LLMProfile, caller: Caller, request: Request
) -> Response:
    """Sends a model call in OpenAI's Responses protocol and returns the reply. `slot`: the slot (permission)
    of the call, which is freed when the reply has ended.
    """
    body, size = await slot.body_of(request)
    vendor = responses.require_spoken(vendor_of(profile.model, profile.base_url), effective(profile))
    fields.check(body, responses.ResponsesFields)
    responses.check_input(body)
    body = responses.unstored(body)
    reply = partial(passed, profile, vendor, caller.user, body, request, path=RESPONSES)
    return await settled(reply, payer, profile, body, size, request)


async def message(
    slot: CallSlot, payer: Payer, profile: LLMProfile, caller: Caller, request: Request
) -> Response:
    """Sends a model call in Anthropic's Messages protocol and returns the reply. Anthropic's own models get
    the call unchanged. For other models the call is translated to a chat completion, and the reply is
    translated back. `slot`: the slot (permission) of the call, which is freed when the reply has ended.
    """
    given, size = await slot.body_of(request)
    vendor = vendor_of(profile.model, profile.base_url)
    if (native := native_messages.native(vendor)) is not None:
        messages.check(given, native_messages.NativeFields)
        body = native_messages.as_sent(given, effective(profile).facts.max_output)
        headers = native_messages.headers_of(request.headers)
        path = native_messages.MESSAGES
        reply = partial(passed, profile, native, caller.user, body, request, path=path, own_headers=headers)
        return native_messages.with_error(await settled(reply, payer, profile, body, size, request))
    call = messages.check(given)
    facts = effective(profile).facts
    body = with_usage(messages.as_chat(call, vendor, facts, profile.model, profile.chosen))
    working_dir = caller.working_dir or "."
    if profile.is_recording:
        completion = await ask(profile, caller.user, body, request, working_dir=working_dir)
    else:
        completion = await completed(
            payer, profile, caller.user, body, size, request, working_dir=working_dir
        )
    return MessagesReply(completion, profile.name, shows_thinking=is_wanted(call.thinking))


async def counted(
    slot: CallSlot, _payer: Payer, profile: LLMProfile, caller: Caller, request: Request
) -> Response:
    """Returns the number of input tokens of a call in Anthropic's Messages protocol, without making the call.
    For Anthropic's own models, Anthropic counts the tokens at no cost. For other models, and for servers that
    cannot count, the number is estimated. `slot`: the permission to handle this request, as for a model call.
    """
    body, _ = await slot.body_of(request)
    fields.check(body, messages.CountFields)
    call = messages.check({**body, "max_tokens": 1}, native_messages.NativeFields)
    vendor = vendor_of(profile.model, profile.base_url)
    if (native := native_messages.native(vendor)) is not None:
        headers = native_messages.headers_of(request.headers)
        path = native_messages.COUNT
        reply = await passed(profile, native, caller.user, body, request, path=path, own_headers=headers)
        if reply.status_code != NotFound.status:
            return native_messages.with_error(reply)
    else:
        # Raises the errors that the call itself would raise.
        messages.as_chat(call, vendor, effective(profile).facts, profile.model, profile.chosen)
    return JSONResponse({"input_tokens": messages.estimated_tokens(body)})
