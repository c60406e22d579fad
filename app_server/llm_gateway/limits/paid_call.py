"""A paid model call: its cost is reserved before the call is sent, and the real cost replaces the reservation
when the reply has ended.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import Response

from agent_runtime.metering.lenient_numbers import a_count
from agent_runtime.metering.prices import Price
from agent_runtime.metering.token_counts import Usage
from app_server.llm_gateway.limits.calls import Spending
from app_server.llm_gateway.limits.meter import Meter, Metered, estimated, meter_for
from app_server.llm_gateway.limits.spending import Payer, to_micros
from app_server.settings.effective_values import Effective, effective
from app_server.settings.models import LLMProfile

USUAL_REPLY_TOKENS = 8192
"""The number of reply tokens to reserve if the request does not limit the length of the reply."""

_LENGTHS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


@dataclass(frozen=True)
class PaidCall:
    """A model call that the caller may send, because its likely cost is already reserved. If the vendor
    replies, the caller must call `metered` with the response; otherwise it must call `failed`.
    """

    spending: Spending
    payer: Payer
    id: UUID
    price: Price | None
    request_bytes: int

    def metered(self, response: Response) -> Response:
        """Returns the response wrapped so that its token usage is measured. When the response ends, its real
        cost replaces the reservation. An error response costs nothing.
        """
        if response.status_code >= 400:
            self.failed()
            return response
        meter = meter_for(response.headers.get("content-type"))
        return Metered(response, meter, lambda: self._settle(meter))

    def failed(self) -> None:
        """Releases the reservation at no cost, because the vendor did not answer the call."""
        self.spending.settle(self.id, self.payer, 0)

    def _settle(self, meter: Meter) -> None:
        usage = meter.usage() or estimated(self.request_bytes, meter.text_bytes)
        self.spending.settle(self.id, self.payer, _cost(usage, self.price) or 0, usage)


async def begin(
    spending: Spending, payer: Payer, profile: LLMProfile, body: dict[str, Any], request_bytes: int
) -> PaidCall:
    """Reserves the likely cost of a model call and returns the call as a PaidCall.

    `payer`: the user and the conversation that pay. `profile`: the model profile (a saved model with its
    options) of the call. `body`, `request_bytes`: the body of the request, and its size in bytes. Raises
    PaymentRequired if a limit of the payer, or a budget of a team or the organisation, is reached. Also
    raises PaymentRequired if the cost is unknown and a budget or a limit per day or month applies.
    """
    model = effective(profile)
    most = _most(body, request_bytes, model)
    call_id = await spending.reserve(payer, _cost(most, model.price))
    return PaidCall(spending, payer, call_id, model.price, request_bytes)


def _most(body: dict[str, Any], request_bytes: int, model: Effective) -> Usage:
    """Estimates the largest token usage that is likely for a model call, and returns it. The caller reserves
    the cost of this usage.

    `body`: the body of the request; it may state the maximum length of the reply. `request_bytes`: the size
    of the body in bytes, from which the length of the prompt is estimated. `model`: the properties of the
    model. Its context window limits the prompt, and its longest possible reply limits the reply.
    """
    asked = next(filter(None, (a_count(body.get(name)) for name in _LENGTHS)), None)
    prompt = estimated(request_bytes, 0).prompt_tokens
    return Usage(
        # An image has many bytes but few tokens.
        prompt_tokens=min(prompt, model.window),
        completion_tokens=min(asked or USUAL_REPLY_TOKENS, model.facts.max_output or USUAL_REPLY_TOKENS),
    )


def _cost(usage: Usage, price: Price | None) -> int | None:
    """Returns the cost of a token usage in millionths of a dollar, or None if it is unknown. If the vendor
    states the cost, this cost is used. Otherwise it is computed from the price.
    """
    if usage.cost is not None:
        return to_micros(usage.cost)
    return None if price is None else to_micros(price.of(usage))
