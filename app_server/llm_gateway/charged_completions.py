"""Sends chat completions to the model of a model profile, and charges their cost. A model profile is a model
with its address, key and options. The user of the conversation that makes the call pays. Also charges the
cost of calls in other protocols.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import Request, Response

from app_server.llm_gateway.forwarding.vendors import PassThrough, vendor_of
from app_server.llm_gateway.limits import paid_call
from app_server.llm_gateway.limits.spending import Payer
from app_server.llm_gateway.protocols import chat_as_responses
from app_server.llm_gateway.protocols.chat_reply import ChatReply
from app_server.llm_gateway.vendor_call import RESPONSES, ask, passed
from app_server.settings.effective_values import effective
from app_server.settings.models import LLMProfile
from app_server.users.models import User


async def completed(
    payer: Payer,
    profile: LLMProfile,
    user: User,
    body: dict[str, Any],
    size: int,
    request: Request,
    *,
    working_dir: str,
) -> Response:
    """Sends the chat completion `body` to the model of the profile (a saved model with its address and key)
    and returns the reply. Charges the cost to the user who pays (`payer`). If the model supports only
    OpenAI's Responses protocol, the request and the reply are translated.

    `size`: the size of the request's body in bytes; the likely cost is estimated from it. `working_dir`: the
    conversation's working directory. It is needed only if a recording (stored replies) replaces the model,
    because it is inserted into the stored replies.
    """
    vendor, model = vendor_of(profile.model, profile.base_url), effective(profile)
    if isinstance(vendor, PassThrough) and chat_as_responses.is_needed(model):
        sent = chat_as_responses.as_response(body, model.facts, vendor.model)
        reply = partial(passed, profile, vendor, user, sent, request, path=RESPONSES)
        answer = await settled(reply, payer, profile, sent, size, request)
        return ChatReply(answer, profile.name, vendor.model)
    reply = partial(ask, profile, user, body, request, working_dir=working_dir)
    return await settled(reply, payer, profile, body, size, request)


async def settled(
    reply: Callable[[], Awaitable[Response]],
    payer: Payer,
    profile: LLMProfile,
    body: dict[str, Any],
    size: int,
    request: Request,
) -> Response:
    """Makes a model call and charges its cost. Reserves the likely cost in the payer's spending accounts,
    calls `reply` to get the vendor's reply, and returns this reply. When the reply ends, its real cost
    replaces the reservation. If `reply` raises an error, the reservation is released at no cost.

    `payer`: the user who pays. `body`, `size`: the body of the request, and its size in bytes; the likely
    cost is estimated from both.
    """
    sent = {**body, **profile.chosen.extra_body}
    paid = await paid_call.begin(request.state.spending, payer, profile, sent, size)
    try:
        answer = await reply()
    except BaseException:
        paid.failed()
        raise
    return paid.metered(answer)
