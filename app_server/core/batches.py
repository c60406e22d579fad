"""Combines the items of several callers that ask at the same time, for example to store their rows in one
transaction.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
OutcomeT = TypeVar("OutcomeT")

Work = Callable[[Sequence[ItemT]], Awaitable[Sequence[OutcomeT | Exception]]]
"""Returns one outcome for each item, in the same order. An exception among them is raised for its caller; an
exception that the work itself raises is raised for all callers.
"""


class Batches(Generic[ItemT, OutcomeT]):
    """A queue that processes the items of several callers together, in batches. The items that arrive while
    one batch is processed form the next batch. An item that arrives when no batch is processed is processed
    at once. at_most: the largest number of items in one batch.
    """

    def __init__(self, work: Work[ItemT, OutcomeT], *, at_most: int) -> None:
        self._work = work
        self._at_most = at_most
        self._waiting: deque[tuple[ItemT, asyncio.Future[OutcomeT]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def do(self, item: ItemT) -> OutcomeT:
        """Processes the item in a batch and returns its outcome. The batch continues if a caller is
        cancelled.
        """
        outcome: asyncio.Future[OutcomeT] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, outcome))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="a batch")
        return await outcome

    async def _run(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._at_most))]
            work = self._work([item for item, _ in batch])
            try:
                [done] = await asyncio.gather(work, return_exceptions=True)
            except asyncio.CancelledError:
                for _, waiting in (*batch, *self._waiting):
                    waiting.cancel()
                raise
            outcomes = [done] * len(batch) if isinstance(done, BaseException) else done
            for (_, waiting), outcome in zip(batch, outcomes, strict=True):
                if waiting.done():
                    continue  # its caller was cancelled
                if isinstance(outcome, BaseException):
                    waiting.set_exception(outcome)
                else:
                    waiting.set_result(outcome)
