"""Runs an asyncio event loop in a thread, for callers that have no event loop."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class LoopThread:
    """An event loop in a separate thread, in which coroutines run for callers without an event loop. The
    methods must not be called from the separate thread. `close` ends the thread.
    """

    def __init__(self, name: str) -> None:
        self._is_up = threading.Event()
        # A program that ends without closing it must not hang.
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()
        self._is_up.wait()

    def begin(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine, waits for it and returns its result. Ctrl-C during the wait cancels the
        coroutine.
        """
        future = self.begin(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancels the remaining tasks and ends the thread. May be called twice."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._is_up.set()
        await self._closing.wait()


def run_sync(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs one coroutine and returns its result, even if the calling thread runs an event loop."""
    thread = LoopThread("run_sync")
    try:
        return thread.call(work)
    finally:
        thread.close()
