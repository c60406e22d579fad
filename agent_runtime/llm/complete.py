"""Sends prompts to models and returns their replies. All requests of the runtime to a model go through this
module.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from agent_runtime.llm import litellm_transport, openai_http, prompted_tools
from agent_runtime.llm.cancellable import cancellable
from agent_runtime.llm.capabilities import listed
from agent_runtime.llm.config import LLM
from agent_runtime.llm.dialect import OnPiece
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import PassedOver, PieceKind, Prompt, Reply, Retry, Silence, StreamListener
from agent_runtime.llm.retry import retries, wait_seconds
from agent_runtime.llm.router import choose, in_order
from agent_runtime.metering import prices

if TYPE_CHECKING:
    import httpx

CredentialFor = Callable[[str], str | None]
"""The type of a function that returns the bearer token for a base URL. It returns None if calls of this URL
use the key in the model's configuration.
"""


def no_credential(_url: str) -> str | None:
    return None


class LLMClient:
    """A client that sends prompts to models over connections that stay open. Call `close` when it is no
    longer needed.
    """

    def __init__(self, *, credential_for: CredentialFor = no_credential) -> None:
        self._credential_for = credential_for
        self._http: httpx.AsyncClient | None = None

    async def complete(self, llm: LLM, prompt: Prompt, listener: StreamListener | None = None) -> Reply:
        """Sends the prompt to the model that the routes (rules in the configuration) choose, or to a fallback
        model, and returns the reply.

        Raises LLMError if no model has replied after all retries, or at once after an error that a retry
        cannot solve. The listener, if there is one, gets the pieces of the reply of each attempt, the reason
        for each failed attempt, and the time of the next attempt.
        """
        attempts = _Attempts(listener or Silence())
        passed_over: list[PassedOver] = []
        candidates = in_order(choose(llm, prompt))
        for candidate, successor in zip(candidates, [*candidates[1:], None], strict=True):
            try:
                reply = await self._persist(candidate, prompt, attempts)
            except LLMError as error:
                if successor is None or not error.is_retryable:
                    attempts.give_up(error)
                    raise
                passed_over.append(PassedOver(candidate.model, error.code, str(error)))
                attempts.failed(error, successor, wait=0, left=successor.num_retries + 1)
            else:
                return _settled(replace(reply, answered_by=candidate, passed_over=tuple(passed_over)))
        raise AssertionError("the last candidate either replies or raises")

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def _persist(self, llm: LLM, prompt: Prompt, attempts: "_Attempts") -> Reply:
        """Sends the prompt to one model and returns the reply. Repeats the request after an error, as long as
        retries are left.
        """
        for attempt in count(1):
            attempts.begin()
            try:
                return await self._ask(llm, prompt, attempts.piece)
            except LLMError as error:
                wait = wait_seconds(llm, attempt, error)
                if wait is None:
                    raise
                attempts.failed(error, llm, wait=wait, left=retries(llm, error) + 1 - attempt)
            except asyncio.CancelledError:
                attempts.cancelled()
                raise
            await attempts.wait(wait)
        raise AssertionError("counting does not end")

    async def _ask(self, llm: LLM, prompt: Prompt, on_piece: OnPiece) -> Reply:
        # The tools that the prompt must describe, because the model does not support tool calls.
        tools = () if llm.native_tool_calling else prompt.tools
        if not llm.native_tool_calling:
            prompt = prompted_tools.written_out(prompt)
            on_piece = prompted_tools.without_tokens(on_piece)
        if tools:
            llm, on_piece = prompted_tools.stopping(llm), prompted_tools.until_call(on_piece)
        brokered = self._credential_for(openai_http.base_url(llm))
        if openai_http.serves(llm, is_brokered=brokered is not None):
            bearer = brokered or (llm.api_key.get_secret_value() if llm.api_key else None)
            reply = await cancellable(
                openai_http.request(self._connections(), llm, prompt, bearer=bearer, on_piece=on_piece)
            )
        else:
            reply = await litellm_transport.request(llm, prompt, on_piece)
        return reply if llm.native_tool_calling else prompted_tools.read(reply, tools)

    def _connections(self) -> "httpx.AsyncClient":
        import httpx  # 2 MB that a standby server does not need

        if self._http is None:
            self._http = httpx.AsyncClient(limits=httpx.Limits(max_connections=100, keepalive_expiry=30))
        return self._http


def _settled(reply: Reply) -> Reply:
    """Returns a copy of the reply that also contains the size of the model's context window in tokens. If the
    vendor did not state the cost of the call, the cost is computed from the model's price.
    """
    model = reply.answered_by
    assert model is not None
    known = listed(model)
    own = prices.set_price(
        model.input_cost_per_token,
        model.output_cost_per_token,
        cache_read=model.cache_read_cost_per_token,
        cache_write=model.cache_write_cost_per_token,
    )
    price = own or known.price
    cost = reply.usage.cost
    if cost is None and price is not None:
        cost = price.of(reply.usage)
    window = model.max_input_tokens or known.window
    return replace(reply, usage=replace(reply.usage, cost=cost), context_window=window)


class _Attempts:
    """An object that reports the attempts of one model call to the listener of the call. An attempt is
    reported when its first piece of the reply arrives, or when the attempt fails.
    """

    def __init__(self, listener: StreamListener) -> None:
        self._listener = listener
        self._number = 0
        self._has_started = False

    def begin(self) -> None:
        self._number += 1
        self._has_started = False

    def piece(self, kind: PieceKind, content: str) -> None:
        if not self._has_started:
            self._has_started = True
            self._listener.started(self._number)
        self._listener.piece(self._number, kind, content)

    def failed(self, error: LLMError, successor: LLM, *, wait: float, left: int) -> None:
        """Reports a failed attempt to the listener (the object that receives the pieces of the reply).
        `error`: why the attempt failed. `successor`: the model that is asked next. `wait`: the seconds before
        the next attempt. `left`: how many attempts are left for `successor`.
        """
        retry = Retry(
            code=error.code,
            detail=str(error),
            model=successor.model,
            wait_seconds=round(wait, 3),
            next_attempt=self._number + 1,
            max_attempts=self._number + left,
        )
        self._listener.aborted(self._number, error.code, retry)

    async def wait(self, seconds: float) -> None:
        """Waits this number of seconds before the next attempt. If the wait is cancelled, informs the
        listener (the object that receives the pieces of the reply), because it may show a countdown.
        """
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self._listener.aborted(self._number, "cancelled")
            raise

    def give_up(self, error: LLMError) -> None:
        self._abort(error.code)

    def cancelled(self) -> None:
        self._abort("cancelled")

    def _abort(self, reason: str) -> None:
        if self._has_started:
            self._listener.aborted(self._number, reason)
