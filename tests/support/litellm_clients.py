"""The HTTP clients that litellm keeps for later calls: closed after each test that used one.

litellm drops them without closing. A test that runs later in this process would then fail for an open socket.

The gateway's clients for the whole process are removed with them: the gateway makes them again, and tests of
the engine run in the same process.
"""

import asyncio
import sys
from typing import Any

import pytest

from agent_runtime.llm.litellm_transport import started_loop
from tests.support.patience import PATIENCE_SECONDS

_removed: list[object] = []
"""Kept until the end: a client that is forgotten while it is open counts as a fault of the next test."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    if "litellm" not in sys.modules:
        return
    if started_loop.cache_info().currsize:
        asyncio.run_coroutine_threadsafe(_close_all(), started_loop()).result(PATIENCE_SECONDS)
    if (bounds := sys.modules.get("app_server.llm_gateway.forwarding.bounds")) is not None:
        _remove_clients_of_the_gateway(bounds)


async def _close_all() -> None:
    import litellm

    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


def _remove_clients_of_the_gateway(bounds: Any) -> None:
    import litellm

    bounds._under_way.clear()  # calls that the test has abandoned
    _removed.append(litellm.aclient_session)
    litellm.sync_transport = litellm.client_session = litellm.aclient_session = None
