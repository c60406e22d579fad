"""Closes the HTTP clients that litellm keeps for later calls, after each test that used one.

litellm drops these clients without closing them. A later test in this process would then fail because of an
open socket.

The HTTP clients of the LLM gateway are removed too, because the gateway makes them again when it needs them.
"""

import asyncio
import sys
from typing import Any

import pytest

from agent_runtime.llm.litellm_transport import started_loop
from tests.support.patience import PATIENCE_SECONDS

_removed: list[object] = []
"""Keeps the removed clients until the process ends. A client that is freed while open makes the next test
fail.
"""


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

    bounds._under_way.clear()  # calls that the test did not wait for
    _removed.append(litellm.aclient_session)
    litellm.sync_transport = litellm.client_session = litellm.aclient_session = None
