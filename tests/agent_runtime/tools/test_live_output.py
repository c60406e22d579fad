"""If the output of a command changes twice at once, it is published once. uvloop, the server's event loop, is
used.
"""

import asyncio
from collections.abc import Mapping

import pytest
import uvloop

from agent_runtime.tools import live_output
from agent_runtime.tools.live_output import LiveOutputs, OutputTail
from tests.support.patience import PATIENCE_SECONDS


def test_what_is_due_at_once_is_published_once_on_the_servers_own_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_output, "INTERVAL_SECONDS", 0.0)

    async def touch_twice() -> list[Mapping[str, OutputTail]]:
        published: asyncio.Queue[Mapping[str, OutputTail]] = asyncio.Queue()
        live = LiveOutputs(published.put_nowait)
        with live.showing("a", lambda max_chars: OutputTail("x"[:max_chars])):
            live.touch()
            live.touch()
            async with asyncio.timeout(PATIENCE_SECONDS):
                first = await published.get()
        async with asyncio.timeout(PATIENCE_SECONDS):
            return [first, await published.get()]

    assert uvloop.run(touch_twice()) == [{"a": OutputTail("x")}, {}]
