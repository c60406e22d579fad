"""The one way to ask a model. Nothing else in the runtime calls out to one."""

import asyncio
from collections.abc import Callable

import httpx

from agent_runtime.llm import litellm_transport, openai_http
from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import PieceKind, Prompt, Reply, Silence, StreamListener
from agent_runtime.llm.retry import attempts

CredentialFor = Callable[[str], str | None]
"""The bearer token for a base URL, if its calls are authorised by something else than the model's own key."""


def no_credential(_url: str) -> str | None:
    return None


class LLMClient:
    """Asks models, over connections that are kept. Close it when done."""

    def __init__(self, *, credential_for: CredentialFor = no_credential) -> None:
        self._credential_for = credential_for
        self._http: httpx.AsyncClient | None = None

    async def complete(self, llm: LLM, prompt: Prompt, listener: StreamListener | None = None) -> Reply:
        """The model's reply. LLMError when it cannot be had after all retries.

        The listener hears the pieces of each attempt; one that fails is aborted before the next starts.
        """
        async for attempt in attempts(llm):
            with attempt:
                number = attempt.retry_state.attempt_number
                return await self._attempt(llm, prompt, _Attempt(number, listener or Silence()))
        raise AssertionError("tenacity either returns a reply or raises")

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def _attempt(self, llm: LLM, prompt: Prompt, hear: "_Attempt") -> Reply:
        try:
            if not openai_http.serves(llm):
                return await litellm_transport.request(llm, prompt)
            return await openai_http.request(
                self._connections(), llm, prompt, bearer=self._bearer(llm), on_piece=hear.piece
            )
        except LLMError as error:
            hear.abort(error.code)
            raise
        except asyncio.CancelledError:
            hear.abort("cancelled")
            raise

    def _bearer(self, llm: LLM) -> str | None:
        brokered = self._credential_for(openai_http.base_url(llm))
        if brokered is not None:
            return brokered
        return llm.api_key.get_secret_value() if llm.api_key else None

    def _connections(self) -> httpx.AsyncClient:
        if self._http is None:
            self._http = httpx.AsyncClient(limits=httpx.Limits(max_connections=100, keepalive_expiry=30))
        return self._http


class _Attempt:
    """One attempt as its listener hears it: silent until the first piece."""

    def __init__(self, number: int, listener: StreamListener) -> None:
        self._number = number
        self._listener = listener
        self._has_started = False

    def piece(self, kind: PieceKind, content: str) -> None:
        if not self._has_started:
            self._has_started = True
            self._listener.started(self._number)
        self._listener.piece(self._number, kind, content)

    def abort(self, reason: str) -> None:
        if self._has_started:
            self._listener.aborted(self._number, reason)
