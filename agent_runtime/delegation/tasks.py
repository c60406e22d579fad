"""Starts the tasks of the sub-agents of one conversation, waits for the end of the tasks, and returns the
results.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

from agent_runtime.context.git_state import GitState, git_state
from agent_runtime.context.sub_agents import SubAgent
from agent_runtime.conversation.changes import note_children, set_budget
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.sub_agent_task import Task
from agent_runtime.conversation.run.recovery import recover
from agent_runtime.conversation.run.slots import RunSlots
from agent_runtime.conversation.unmasked_keys import revealed
from agent_runtime.delegation.brief import Brief, request_of
from agent_runtime.delegation.following import Following
from agent_runtime.delegation.hooks_and_servers import commands_of, granted
from agent_runtime.delegation.host import ConversationHost, above
from agent_runtime.delegation.report import result_of
from agent_runtime.delegation.separate_work_tree import bring_home, let_go, repository_of, set_apart
from agent_runtime.delegation.sub_agent_kinds import kinds_for
from agent_runtime.delegation.tool_names import Equipment, equip
from agent_runtime.events.base import JsonObject
from agent_runtime.events.message import Message
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.llm.config import LLM
from agent_runtime.llm.conversation_costs import budget_of, total_cost
from agent_runtime.tools.delegation import Assignment, DelegationError, Isolation, Result
from agent_runtime.tools.mcp.config import named_servers
from agent_runtime.tools.registry import tool_names
from agent_runtime.tools.tool import CallSuspendedError

MAX_TASKS = 20
"""The maximum number of tasks that a conversation and all its direct and indirect sub-agents may have
together. The cost of all tasks counts against the budget of the topmost conversation (the one that no other
conversation has started).
"""
MAX_DEPTH = 2
"""The maximum number of levels of sub-agents. The sub-agents that a conversation starts are on level 1, and
they may start sub-agents on level 2. Sub-agents on level 2 may not start sub-agents.
"""

SPENT = "The budget of this conversation is spent. Once there is more, resume the task if it was begun."

_TOOL = "task_tool_set"


class SubAgents:
    """An object that starts and resumes the tasks of the sub-agents of one conversation, and returns the
    results. `parent_id`: the id of the conversation that starts the sub-agents. `host`: the object that finds
    and creates conversations; `host.find` must return the parent's engine before the first task starts.
    """

    def __init__(self, parent_id: UUID, host: ConversationHost) -> None:
        self._parent_id = parent_id
        self._host = host
        self._kinds: dict[str, SubAgent] = {}
        # Merges run one after the other: each one builds on the changes of the earlier ones.
        self._merging = asyncio.Lock()

    def kinds(self, projects: Sequence[Path], given: Sequence[JsonObject]) -> Sequence[SubAgent]:
        self._kinds = {one.name: one for one in kinds_for(projects, given)}
        return list(self._kinds.values())

    async def work(self, wanted: Assignment) -> Result:
        parent = self._host.find(self._parent_id)
        assert parent is not None, "it is at work"
        task_id, child, notes = await self._take_up(parent, wanted)
        # The child uses its parent's run slot. If it waited for a second slot, both could wait without end.
        child.run_context.slots = RunSlots()
        with Following(parent, child, task_id) as following:
            following.note()
            await self._see_through(child)
            result = self._conclude(parent, child, task_id, following)
        if not child.is_busy:
            await self._host.put_away(child)
        result = replace(result, note=" ".join((result.note, *notes)))
        if result.is_completed and parent.state.tasks[task_id].isolation == "worktree":
            async with self._merging:
                return await bring_home(parent, task_id, self._host.trees, result)
        return result

    async def _see_through(self, child: ConversationEngine) -> None:
        try:
            if not child.is_running and (child.state.has_work or child.is_waiting):
                child.start()
            await child.wait()
            if child.is_closed and not child.is_deleted:
                # The host of the conversations is closing and will cancel this task, too.
                await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await child.interrupt()
            raise

    def _conclude(
        self, parent: ConversationEngine, child: ConversationEngine, task_id: str, following: Following
    ) -> Result:
        if child.is_deleted:
            raise DelegationError(f"The conversation of {task_id} was deleted: it cannot go on.")
        if child.is_waiting:
            following.note("waiting")
            raise CallSuspendedError(waits_for_user=True)
        if child.status is ExecutionStatus.PAUSED and following.has_spent_budget:
            following.note("error")
            raise DelegationError(SPENT)
        if child.status is ExecutionStatus.PAUSED and parent.state.wants_pause:
            following.note("paused")
            raise CallSuspendedError(waits_for_user=False)
        result = result_of(child, task_id, parent.state.tasks[task_id].subagent)
        following.note("completed" if result.is_completed else "error")
        return result

    # Taking up

    async def _take_up(
        self, parent: ConversationEngine, wanted: Assignment
    ) -> tuple[str, ConversationEngine, Sequence[str]]:
        """Starts or resumes the sub-agent's task that a tool call describes (`wanted`). If this tool call has
        already started a task, for example before a restart of the server, uses that task.

        Returns the task's id, the engine of the sub-agent's conversation, and messages for the parent agent,
        such as which parts of the definition cannot be used.
        """
        begun = [task_id for task_id, task in parent.state.tasks.items() if task.action_id == wanted.call_id]
        if begun:
            return begun[0], self._child(parent, begun[0]), ()
        if wanted.resume is not None:
            return wanted.resume, await self._resumed(parent, wanted.resume, wanted), ()
        return await self._new(parent, wanted)

    def _child(self, parent: ConversationEngine, task_id: str) -> ConversationEngine:
        child = self._host.find(parent.state.tasks[task_id].conversation_id)
        if child is None or child.spec.parent_conversation_id != parent.id:
            raise DelegationError(f"The conversation of {task_id} is not there any more: start a new task.")
        definition = self._kinds.get(parent.state.tasks[task_id].subagent)
        _adopt(child, parent, definition.own_servers if definition else {})
        return child

    async def _resumed(
        self, parent: ConversationEngine, task_id: str, wanted: Assignment
    ) -> ConversationEngine:
        task = parent.state.tasks.get(task_id)
        if task is None:
            known = ", ".join(parent.state.tasks) or "none yet"
            raise DelegationError(f"There is no task {task_id}. The tasks of this conversation: {known}.")
        child = self._child(parent, task_id)
        if child.is_running:
            raise DelegationError(f"{task_id} is still being worked on.")
        if task.isolation == "worktree":
            await set_apart(parent, child.id, self._host.trees)
        recover(child.run_context)
        child.send(Message.of("user", wanted.prompt), message_id=wanted.call_id)
        set_budget(
            child, _allowed(parent, self._kinds.get(task.subagent), spent=total_cost(child.state.stats))
        )
        renewed = {"action_id": wanted.call_id, "status": "running"}
        parent.emit(task.model_copy(update=renewed).to_event(task_id))
        return child

    async def _new(
        self, parent: ConversationEngine, wanted: Assignment
    ) -> tuple[str, ConversationEngine, Sequence[str]]:
        definition, left_out = granted(self._definition(wanted.subagent))
        # Read before the limits are checked: no other task may begin between the check and this one's start.
        git = await git_state(parent.spec.working_dir)
        callers = above(parent, self._host)
        if len(callers) >= MAX_DEPTH:
            raise DelegationError("A sub-agent of a sub-agent cannot have sub-agents: do it yourself.")
        if self._tasks_below([parent, *callers][-1]) >= MAX_TASKS:
            raise DelegationError(
                f"A conversation and its sub-agents have at most {MAX_TASKS} tasks in all: resume one, or do "
                "it yourself."
            )
        llm, notes = self._model(parent, definition)
        equipment = _equipment(parent, definition, may_delegate=len(callers) + 1 < MAX_DEPTH)
        isolation = wanted.isolation or _isolation_of(definition)
        conversation_id = uuid4()
        try:
            working_dir = parent.spec.working_dir
            if isolation == "worktree":
                working_dir = await set_apart(parent, conversation_id, self._host.trees)
                git = await git_state(working_dir)
            brief = Brief(
                definition=definition,
                equipment=equipment,
                llm=llm,
                budget=_allowed(parent, definition),
                conversation_id=conversation_id,
                title=wanted.description or wanted.prompt,
                working_dir=working_dir,
                commands=commands_of(parent, [parent, *callers][-1], definition, working_dir),
            )
            task_id = f"task_{len(parent.state.tasks) + 1:08d}"
            task = Task(
                conversation_id=brief.conversation_id,
                action_id=wanted.call_id,
                subagent=definition.name,
                description=wanted.description,
                isolation=isolation,
            )
            child = self._begin(parent, brief, task_id, task, wanted.prompt, git)
        except BaseException:
            # No other code knows the child yet, so its work tree must be removed here.
            if isolation == "worktree":
                await let_go(repository_of(parent, self._host), conversation_id, self._host.trees)
            raise
        return task_id, child, [*notes, *left_out]

    def _tasks_below(self, conversation: ConversationEngine) -> int:
        """Returns the number of tasks that the conversation and all its direct and indirect sub-agents have
        started. This number is limited to MAX_TASKS.
        """
        tasks = conversation.state.tasks.values()
        children = [child for task in tasks if (child := self._host.find(task.conversation_id)) is not None]
        return len(tasks) + sum(map(self._tasks_below, children))

    def _begin(
        self,
        parent: ConversationEngine,
        brief: Brief,
        task_id: str,
        task: Task,
        prompt: str,
        git: GitState | None,
    ) -> ConversationEngine:
        # Noted before the child is created. A child that is unknown to its parent would not be deleted with
        # it.
        note_children(parent, [*parent.state.children, task.conversation_id])
        try:
            child = self._host.create(request_of(parent, brief), parent.secrets, git)
        except BaseException:
            note_children(parent, [one for one in parent.state.children if one != task.conversation_id])
            raise
        parent.emit(task.to_event(task_id))
        child.send(Message.of("user", prompt), message_id=task.action_id)
        return child

    def _definition(self, name: str) -> SubAgent:
        if (found := self._kinds.get(name)) is None:
            raise DelegationError(f"There is no sub-agent {name}. There are: {', '.join(self._kinds)}.")
        return found

    def _model(self, parent: ConversationEngine, definition: SubAgent) -> tuple[LLM, Sequence[str]]:
        if definition.model == "inherit":
            return parent.agent.llm, ()
        if (found := self._host.model(definition.model)) is not None:
            return found, ()
        return parent.agent.llm, (f"It worked with your model: {definition.model} is not known here.",)


def _isolation_of(definition: SubAgent) -> Isolation:
    return "worktree" if definition.metadata.get("isolation") == "worktree" else "shared"


def _equipment(parent: ConversationEngine, definition: SubAgent, *, may_delegate: bool) -> Equipment:
    own = parent.agent.tools
    found = equip(definition.tools, own, tool_names()) if definition.tools else Equipment(tuple(own))
    if definition.tools and not found.tools:
        raise DelegationError(
            f"None of the tools of {definition.name} exist here: {', '.join(found.missing)}."
        )
    if may_delegate:
        return found
    return replace(found, tools=tuple(spec for spec in found.tools if spec.name != _TOOL))


def _allowed(parent: ConversationEngine, definition: SubAgent | None, *, spent: float = 0.0) -> float | None:
    """Returns the cost limit of the sub-agent's conversation in dollars: the conversation is stopped when its
    total cost reaches this limit. None means no limit. Raises DelegationError if the parent's budget is
    spent.

    The limit is `spent`, the cost so far, plus the amount that the sub-agent may still spend. This amount is
    the smaller of two values: the limit in the sub-agent's definition and the rest of the parent's budget.
    """
    stats = parent.state.stats
    limit = budget_of(stats, parent.agent.llm)
    remaining_budget = None if limit is None else limit - total_cost(stats)
    if remaining_budget is not None and remaining_budget <= 0:
        raise DelegationError(SPENT)
    limits = [
        one
        for one in (remaining_budget, definition.max_budget_per_run if definition else None)
        if one is not None
    ]
    return spent + min(limits) if limits else None


def _adopt(child: ConversationEngine, parent: ConversationEngine, own_servers: JsonObject) -> None:
    """Copies secrets and API keys from the parent's conversation to a sub-agent's conversation, because they
    may not be stored on disk with it. A key is copied only if the model, condenser or MCP server to which it
    belongs has the same settings in both conversations. `own_servers`: the MCP servers in the sub-agent's
    definition.
    """
    child.secrets.adopt(parent.secrets)
    own = parent.agent
    budget = {"max_budget_per_task": child.agent.llm.max_budget_per_task}
    like_its_own = {
        "llm": own.llm.model_copy(update=budget),
        "condenser": own.condenser,
        "mcp_config": {**named_servers(own.mcp_config), **own_servers},
    }
    child.keys.take(revealed(child.agent.model_copy(update=like_its_own)))
