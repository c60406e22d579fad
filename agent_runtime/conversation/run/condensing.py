"""Condenses a conversation when a user requests this: a summary replaces older events in the model's prompt.
If the agent is working, the agent's run makes the summary; otherwise it is made at once.
"""

import asyncio

from agent_runtime.context.condense import summarizers
from agent_runtime.conversation.errors import NoCondenserError, NothingToCondenseError
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.loop import condense
from agent_runtime.events.condensation import CondensationRequest


class Condensing:
    """An object that makes the condensations which a user requests for one conversation, one at a time. A
    condensation replaces older events in the model's prompt by a summary.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._task: asyncio.Task[None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a condensation (a summary that replaces older events) is being made now outside a run (work
        of the agent). If a run makes a condensation, the value is False.
        """
        return self._task is not None

    async def request(self) -> None:
        """Condenses older events of the conversation. If a run (work of the agent) is going on, the run does
        this before the model's next reply; otherwise it is done at once.

        Raises NoCondenserError if the agent has no condenser. Raises NothingToCondenseError if there are too
        few events to condense. If the condenser's model fails, the failure is only logged.
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
        """Waits until no condensation (a summary that replaces older events) is being made outside a run
        (work of the agent). A run calls this method before it begins.
        """
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _condense(self) -> None:
        try:
            await condense(self._context)
        finally:
            self._task = None
        self._context.publish_full_state()
