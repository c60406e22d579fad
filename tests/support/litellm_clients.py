"""The HTTP clients that litellm keeps for later calls: closed after each test that used one.

litellm drops them without closing. A test that runs later in this process would then fail for an open socket.

The gateway's calls that a test has abandoned are forgotten, too. While one is under way, litellm's calls on
the event loop are refused, and tests of the engine run in the same process.
"""

import asyncio
import sys

import pytest

from agent_runtime.llm.litellm_transport import started_loop
from tests.support.patience import PATIENCE_SECONDS


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    if (bounds := sys.modules.get("app_server.llm_gateway.forwarding.bounds")) is not None:
        bounds._under_way.clear()
    if "litellm" not in sys.modules or not started_loop.cache_info().currsize:
        return
    asyncio.run_coroutine_threadsafe(_close_all(), started_loop()).result(PATIENCE_SECONDS)


async def _close_all() -> None:
    import litellm

    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
