"""A queue that combines the items of several callers, for example to store the rows of several callers in one
transaction.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
OutcomeT = TypeVar("OutcomeT")

Work = Callable[[Sequence[ItemT]], Awaitable[Sequence[OutcomeT | Exception]]]
"""The function that processes a batch. It returns one outcome for each item, in the order of the items. An
exception in this list is raised for the caller of its item. An exception that the function itself raises is
raised for all callers whose items are in the batch.
"""


class Batches(Generic[ItemT, OutcomeT]):
    """A queue that processes the items of several callers together, in batches. An item that arrives while no
    batch is processed is processed immediately. Items that arrive while a batch is processed wait and form
    the next batch.

    `work`: the function that processes a batch. It gets the items, and returns one result or exception for
    each item, in the same order. `at_most`: the largest number of items in one batch.
    """

    def __init__(self, work: Work[ItemT, OutcomeT], *, at_most: int) -> None:
        self._work = work
        self._at_most = at_most
        self._waiting: deque[tuple[ItemT, asyncio.Future[OutcomeT]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def do(self, item: ItemT) -> OutcomeT:
        """Puts the item into the queue, waits until the batch with this item is processed, and returns what
        the function `work` has returned for this item. If `work` returns an exception for the item, raises
        this exception. If the caller is cancelled while it waits, its item is still processed with the batch.
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
