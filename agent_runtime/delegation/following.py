"""Logs the progress and the cost of a sub-agent in its parent conversation while the sub-agent works."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.conversation.event_log.sub_agent_task import Task, TaskStatus
from agent_runtime.events.base import Event, JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.conversation_costs import budget_of, total_cost, with_others

logger = logging.getLogger(__name__)


class Following:
    """A context manager that watches a sub-agent's task. Inside the `with` block, the sub-agent's progress is
    logged in the parent conversation (the one that started the sub-agent). A pause of the parent also pauses
    the sub-agent, and the sub-agent is paused when the parent's budget is spent.

    `has_spent_budget`: whether the parent's budget was spent during the task.
    """

    def __init__(self, parent: ConversationEngine, child: ConversationEngine, task_id: str) -> None:
        self._parent = parent
        self._child = child
        self._task_id = task_id
        self._has_paused = False
        self.has_spent_budget = False
        self._subscriptions = ExitStack()

    def __enter__(self) -> Self:
        self._subscribe(self._parent, self._pass_on_pause)
        self._subscribe(self._child, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._subscriptions.close()

    def note(self, status: TaskStatus = "running") -> None:
        """Logs the status, the cost and the last action of the sub-agent's task in the parent conversation,
        if they have changed. `status`: the new status of the task.
        """
        child, task = self._child, self._parent.state.tasks[self._task_id]
        doing = child.state.pending[-1] if child.state.pending else None
        last_action = (doing.summary or doing.tool_name) if doing else task.last_action
        now = task.model_copy(
            update={
                "status": status,
                "last_action": last_action,
                "cost": total_cost(child.state.stats),
                "asks": tuple(_questions_of(child)) if status == "waiting" else (),
            }
        )
        self._parent.emit(*self._stats(), *self._changes(task, now))

    def _stats(self) -> list[Event]:
        # The costs are set and not added. So the sum stays right if they are counted twice, for example after
        # a crash.
        before = self._parent.state.stats
        after = with_others(before, f"task:{self._task_id}", self._child.state.stats)
        is_news = bool(self._child.state.stats["usage_to_metrics"]) and after != before
        return [ConversationStateUpdateEvent(key="stats", value=after)] if is_news else []

    def _changes(self, before: Task, now: Task) -> list[Event]:
        return [now.to_event(self._task_id)] if now != before else []

    def _subscribe(self, conversation: ConversationEngine, take: Callable[[EventFrame], None]) -> None:
        self._subscriptions.callback(conversation.subscribe(take))

    def _take(self, frame: EventFrame) -> None:
        if frame.seq is None:
            return
        try:
            self.note()
        except sqlite3.Error:
            # For example, the disk is full. The child must not fail because of this: the event at the end of
            # the task contains everything again.
            logger.exception("how a task stands cannot be noted", extra={"task_id": self._task_id})
        if self._is_budget_spent():
            self.has_spent_budget = True
            self._pause()

    def _pass_on_pause(self, frame: EventFrame) -> None:
        if frame.seq is not None and self._parent.state.wants_pause:
            self._pause()

    def _is_budget_spent(self) -> bool:
        stats = self._parent.state.stats
        limit = budget_of(stats, self._parent.agent.llm)
        return limit is not None and total_cost(stats) >= limit

    def _pause(self) -> None:
        if not self._has_paused and self._child.is_running:
            self._has_paused = True
            self._child.pause()


def _questions_of(child: ConversationEngine) -> Iterator[JsonObject]:
    waiting = {task.action_id: task for task in child.state.tasks.values() if task.status == "waiting"}
    for action in child.state.pending:
        if action.id in waiting:
            yield from waiting[action.id].asks
        else:
            asked = {"tool_name": action.tool_name, "summary": action.summary, "action": action.action}
            yield {name: value for name, value in asked.items() if value is not None}
