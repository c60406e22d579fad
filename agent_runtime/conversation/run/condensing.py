"""Makes the condensations that a user requests: summaries that replace older events in the model's prompt.
They are made at once, or by the run that is going on.
"""

import asyncio

from agent_runtime.context.condense import summarizers
from agent_runtime.conversation.errors import NoCondenserError, NothingToCondenseError
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.loop import condense
from agent_runtime.events.condensation import CondensationRequest


class Condensing:
    """Makes condensations of one conversation, one at a time."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._task: asyncio.Task[None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a condensation is being made while no run is going on. A run makes condensations itself."""
        return self._task is not None

    async def request(self) -> None:
        """Condenses older events: at once, or before the model's next reply if a run is going on.

        Raises NoCondenserError or NothingToCondenseError. If the condenser's model fails, the failure is
        logged.
        """
        if not summarizers(self._context.agent.condenser):
            raise NoCondenserError
        if self._task is None:
            if self._context.model_input.plan_condensation(self._context.agent, is_requested=True) is None:
                raise NothingToCondenseError
            self._context.emit(CondensationRequest())
            if self._context.is_running:
                return
            self._task = self._context.background.begin(self._condense(), "condense")
        await asyncio.wait([self._task])

    async def wait(self) -> None:
        """Waits until no condensation is going on."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _condense(self) -> None:
        try:
            await condense(self._context)
        finally:
            self._task = None
        self._context.publish_full_state()
