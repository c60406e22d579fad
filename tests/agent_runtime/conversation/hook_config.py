"""Helpers that write hook configurations and read the results of hooks from a log."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_runtime.conversation.conversation import ConversationEngine
from tests.agent_runtime.conversation.conftest import (
    of_kind,
    user,
)
from tests.support.patience import PATIENCE_SECONDS


def command(line: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": line, **fields}


def at(point: str, *hooks: dict[str, Any], matcher: str = "*") -> dict[str, Any]:
    return {point: [{"matcher": matcher, "hooks": list(hooks)}]}


def hook_events(conversation: ConversationEngine) -> list[dict[str, Any]]:
    return of_kind(conversation, "HookExecutionEvent")


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110 (neither files nor processes send events)
            await asyncio.sleep(0.01)


async def say_to(conversation: ConversationEngine, text: str = "Go.") -> None:
    conversation.send(user(text))
    await conversation.run()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Z is a process that has ended and whose parent has not waited for it. The test counts it as ended.
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
