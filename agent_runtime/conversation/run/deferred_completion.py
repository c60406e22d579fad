"""Tries again to log the end of a run (the work of the agent until it stops) after the first attempt has
failed, for example because the disk is full.

Without further attempts, the log would contain the status `running` until the server loads the conversation
again.
"""

import asyncio
import sqlite3

from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.conversation.run.loop import unexpected
from agent_runtime.events.state import ExecutionStatus, status_update

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0


async def log_end(context: RunContext, cause: BaseException) -> None:
    """Logs that a run (work of the agent) has ended with an error. Waits before each attempt, and longer
    after each failure. Repeats the attempt until the end of the run is logged or a new run has begun.
    `cause`: the error that ended the run.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        await asyncio.sleep(pause)
        if context.is_running or context.state.status is not ExecutionStatus.RUNNING:
            return
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        try:
            context.emit(
                unexpected(cause),
                *interruption(context.state.goal),
                status_update(ExecutionStatus.ERROR),
            )
            context.publish_full_state()
        except sqlite3.Error:
            continue
        return
