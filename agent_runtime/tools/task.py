"""A tool by which the agent gives a task to a sub-agent and gets the sub-agent's report."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.delegation import Assignment, DelegationError, Isolation, Result, SubAgentKind
from agent_runtime.tools.effects import Acts, Effect
from agent_runtime.tools.tool import Action, Observation, Tool, ToolAnnotations, ToolContext

DEFAULT = "general-purpose"

_DESCRIPTION = """\
Hand a piece of the work to a sub-agent. It works in a separate conversation, which does not see yours, \
and its report is the result.

Use it for work that takes many steps, or much reading whose details you do not need. Do not use it for a \
single command, an edit that you can make yourself, or a question that you can already answer.

- Put all it needs into the prompt: the goal, files and names, what is known already, what to \
report.
- Several calls in one reply run side by side. They share your working directory: do not let two of them \
change the same files, or give each its own work tree.
- `isolation="worktree"`: it works on a copy of the last commit, in a git work tree. When it is done its \
changes are merged into your working directory; if they conflict, you are told where they are and settle it.
- To go on with an earlier one, pass its task id as `resume`: it still knows all it has done.

The sub-agents:
{agents}"""


class TaskAction(Action):
    off_wire: ClassVar[frozenset[str]] = frozenset({"isolation"})

    description: str | None = Field(default=None, description="What the task is, in three to five words.")
    prompt: str = Field(description="The task, with everything that the sub-agent has to know.")
    subagent_type: str = Field(default=DEFAULT, description="Which sub-agent is to do it.")
    resume: str | None = Field(default=None, description="The id of the task that is to go on.")
    isolation: Isolation | None = Field(
        default=None,
        description="`worktree`: in a separate git work tree, merged back at the end. `shared`: in your "
        "working directory. Left out, it is as the sub-agent's definition says.",
    )
    _call_id: str = PrivateAttr(default="")

    @classmethod
    def of(cls, event: ActionEvent) -> Self:
        action = super().of(event)
        action._call_id = event.id  # noqa: SLF001 (its own class)
        return action

    @property
    def call_id(self) -> str:
        """The id of the event that contains this action. It identifies the tool call."""
        return self._call_id


class TaskObservation(Observation):
    task_id: str
    subagent: str
    status: Literal["completed", "error"]


class TaskTool(Tool[TaskAction]):
    name = "task"
    kind = "TaskTool"
    annotations = ToolAnnotations(
        title="task", destructiveHint=True, idempotentHint=False, openWorldHint=True
    )

    def __init__(self, context: ToolContext) -> None:
        if context.delegation.tasks is None:
            raise ValueError("sub-agents do not work here")
        self._tasks = context.delegation.tasks
        projects = (context.working_dir, *context.further_projects)
        kinds = self._tasks.kinds(projects, context.agent_definitions)
        self._description = _DESCRIPTION.format(agents="\n".join(map(_line, kinds)))

    @property
    def description(self) -> str:
        return self._description

    def claims(self, action: TaskAction) -> Sequence[Claim]:
        """Returns a claim that lets this call run at the same time as calls for other sub-agents. A claim
        states which resources a call uses; calls with conflicting claims run one after another.

        The claim names a lane, which is a group of calls. Calls in different lanes never conflict. So each
        call gets a lane that no other call uses.
        """
        return (Claim(lane=f"task {action.call_id}"),)

    def effects(self, action: TaskAction) -> Sequence[Effect]:
        """Returns the only effect of the call: it hands work to a sub-agent. From the effects of a call, a
        policy decides whether the user must approve the call. This effect counts as medium risk.

        The sub-agent's tool calls do not count here. The policy judges each of them in the sub-agent's
        conversation.
        """
        del action
        return (Acts("hands work to a sub-agent"),)

    async def run(self, action: TaskAction) -> TaskObservation:
        try:
            result = await self._tasks.work(_assignment(action))
        except DelegationError as error:
            result = Result(action.resume or "unknown", action.subagent_type, False, str(error), "")
        content = [TextContent(text=text) for text in (result.text, result.note) if text]
        return TaskObservation(
            content=[*content],
            is_error=not result.is_completed,
            task_id=result.task_id,
            subagent=result.subagent,
            status="completed" if result.is_completed else "error",
        )


def _assignment(action: TaskAction) -> Assignment:
    if not action.prompt.strip():
        raise DelegationError("The prompt is empty: say what the sub-agent has to do.")
    return Assignment(
        call_id=action.call_id,
        prompt=action.prompt,
        subagent=action.subagent_type,
        description=action.description or "",
        resume=action.resume,
        isolation=action.isolation,
    )


def _line(kind: SubAgentKind) -> str:
    tools = f" (tools: {', '.join(kind.tools)})" if kind.tools else " (your own tools)"
    examples = "".join(f"\n  Example: {example}" for example in kind.when_to_use_examples)
    return f"- {kind.name}: {' '.join(kind.description.split())}{tools}{examples}"
