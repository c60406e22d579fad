"""The attempts of one model call: which model is asked next after an error, and when."""

import asyncio
from collections.abc import Sequence

from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import PassedOver, PieceKind, Retry, StreamListener
from agent_runtime.llm.retry import retries, wait_seconds


class Attempts:
    """The attempts of one model call. Chooses the model of each attempt, and reports the attempts to the
    listener of the call (the object that receives the pieces of the reply). The listener is informed about an
    attempt when the first piece of the reply arrives, or when the attempt fails.

    `candidates`: the model, and after it the fallback models in their order. The attribute `llm` is the model
    of the current attempt. The attribute `passed_over` holds the models that have failed for good.
    """

    def __init__(self, candidates: Sequence[LLM], listener: StreamListener) -> None:
        self.llm, *self._fallbacks = candidates
        self.passed_over: list[PassedOver] = []
        self._listener = listener
        self._number = 0
        self._number_of_model = 0
        self._has_started = False

    def begin(self) -> None:
        """Begins and counts the next attempt. The listener is informed later, when the first piece of the
        reply arrives (see `piece`).
        """
        self._number += 1
        self._number_of_model += 1
        self._has_started = False

    def piece(self, kind: PieceKind, content: str) -> None:
        """Passes a piece of the current attempt's reply to the listener. Before the first piece, tells the
        listener that the attempt has started.
        """
        if not self._has_started:
            self._has_started = True
            self._listener.started(self._number)
        self._listener.piece(self._number, kind, content)

    async def prepare_next(self, error: LLMError) -> bool:
        """Chooses the model for the next attempt after the current attempt has failed. `error`: why it
        failed. Returns whether there is a next attempt.

        If the current model may be asked again, waits for the time until its next retry. Otherwise, changes
        to the next fallback model without a wait. Returns False in two cases: no fallback model is left, or
        the error does not allow a retry, such as a wrong key.
        """
        wait = wait_seconds(self.llm, self._number_of_model, error)
        if wait is not None:
            self._report_failure(
                error, wait=wait, remaining_attempts=retries(self.llm, error) + 1 - self._number_of_model
            )
            await self._wait(wait)
        elif self._fallbacks and error.is_retryable:
            self.passed_over.append(PassedOver(self.llm.model, error.code, str(error)))
            self.llm = self._fallbacks.pop(0)
            self._number_of_model = 0
            self._report_failure(error, wait=0, remaining_attempts=self.llm.num_retries + 1)
        else:
            self._abort(error.code)
            return False
        return True

    def cancelled(self) -> None:
        """Tells the listener that the current attempt was cancelled."""
        self._abort("cancelled")

    def _report_failure(self, error: LLMError, *, wait: float, remaining_attempts: int) -> None:
        """Tells the listener that the current attempt has failed, and which model the next attempt asks: the
        model in the attribute `llm`. `error`: why the attempt failed. `wait`: the seconds before the next
        attempt. `remaining_attempts`: how often the model in `llm` can still be asked.
        """
        retry = Retry(
            code=error.code,
            detail=str(error),
            model=self.llm.model,
            wait_seconds=round(wait, 3),
            next_attempt=self._number + 1,
            max_attempts=self._number + remaining_attempts,
        )
        self._listener.aborted(self._number, error.code, retry)

    async def _wait(self, seconds: float) -> None:
        """Waits this number of seconds. If the wait is cancelled, tells the listener that the current attempt
        was cancelled and that no retry follows. The listener may show the seconds until the retry, and must
        stop this.
        """
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self._listener.aborted(self._number, "cancelled")
            raise

    def _abort(self, reason: str) -> None:
        if self._has_started:
            self._listener.aborted(self._number, reason)
