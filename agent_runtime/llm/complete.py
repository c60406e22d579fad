"""Sends prompts to models and returns their replies. All requests of the runtime to a model go through this
module.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_runtime.llm import litellm_transport, openai_http, prompted_tools
from agent_runtime.llm.attempts import Attempts
from agent_runtime.llm.cancellable import cancellable
from agent_runtime.llm.capabilities import listed
from agent_runtime.llm.completion_log import CompletionLogger, OnLog
from agent_runtime.llm.config import LLM
from agent_runtime.llm.dialect import OnPiece
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import Prompt, Reply, Silence, StreamListener
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

    def __init__(
        self,
        *,
        credential_for: CredentialFor = no_credential,
        connections: "_Connections | None" = None,
        on_log: OnLog | None = None,
    ) -> None:
        self._credential_for = credential_for
        self._connections = connections or _Connections()
        self._on_log = on_log

    def logging_to(self, on_log: OnLog) -> "LLMClient":
        """Returns a new client that uses the connections of this client. The new client calls `on_log` with
        the log of each model call, if logging is turned on in the settings of the model. Do not close the new
        client, because this would close the connections of this client, too.
        """
        return LLMClient(credential_for=self._credential_for, connections=self._connections, on_log=on_log)

    async def complete(self, llm: LLM, prompt: Prompt, listener: StreamListener | None = None) -> Reply:
        """Sends the prompt to a model and returns the reply. `llm`: the configured model. A route (a rule in
        its configuration) can choose another model for the prompt. If the chosen model fails, its fallback
        models are asked.

        `listener`: receives the pieces of the reply. Before each repeated attempt, it also receives the
        reason for the repetition and the seconds until the attempt begins.

        Raises LLMError if no model has replied after all retries. Raises it without retries after an error
        that a retry cannot solve, such as a wrong key.
        """
        logger = CompletionLogger(llm, prompt, self._on_log)
        attempts = Attempts(in_order(choose(llm, prompt)), listener or Silence())
        while True:
            attempts.begin()
            try:
                reply = await self._ask(attempts.llm, prompt, attempts.piece)
                break
            except LLMError as error:
                if not await attempts.prepare_next(error):
                    logger.failed(error)
                    raise
            except asyncio.CancelledError:
                attempts.cancelled()
                raise
        reply = _settled(replace(reply, answered_by=attempts.llm, passed_over=tuple(attempts.passed_over)))
        logger.replied(reply)
        return reply

    async def close(self) -> None:
        await self._connections.close()

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
                openai_http.request(self._connections.opened(), llm, prompt, bearer=bearer, on_piece=on_piece)
            )
        else:
            reply = await litellm_transport.request(llm, prompt, on_piece)
        return reply if llm.native_tool_calling else prompted_tools.read(reply, tools)


class _Connections:
    """The connections to the servers of models. They are opened when they are first needed."""

    def __init__(self) -> None:
        self._http: httpx.AsyncClient | None = None

    def opened(self) -> "httpx.AsyncClient":
        import httpx  # 2 MB that a standby server does not need

        if self._http is None:
            self._http = httpx.AsyncClient(limits=httpx.Limits(max_connections=100, keepalive_expiry=30))
        return self._http

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()


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
