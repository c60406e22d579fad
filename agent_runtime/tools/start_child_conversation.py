"""A tool by which the agent starts a separate conversation, in which another agent works on a task."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.delegation import LaunchChild
from agent_runtime.tools.effects import Acts, Effect
from agent_runtime.tools.tool import Action, OwnObservation, Tool, ToolAnnotations, ToolContext
from agent_runtime.wire import ChildNotStartedError, StartChildConversationRequest

MAX_TITLE_CHARS = 200


class StartChildConversationAction(Action):
    task: str = Field(
        description="Everything the child has to know: the goal, files and paths, constraints, and what it "
        "shall deliver. It cannot see this conversation.",
    )
    title: str | None = Field(default=None, description="A short name for the child conversation.")
    isolation: Literal["worktree", "shared"] = Field(
        default="worktree",
        description="`worktree`: the child works in its own git work tree and on its own branch, begun at "
        "the present commit. `shared`: it works in the same directory.",
    )


class StartChildConversationObservation(OwnObservation):
    conversation_id: str | None = None
    parent_conversation_id: str | None = None
    status: str | None = None
    title: str | None = None
    url: str | None = None
    workspace: str | None = None
    isolation: Literal["worktree", "shared"] | None = None


class StartChildConversationTool(Tool[StartChildConversationAction]):
    name = "start_child_conversation"
    action_type = StartChildConversationAction
    observation_type = StartChildConversationObservation
    annotations = ToolAnnotations(
        title="start_child_conversation", destructiveHint=False, idempotentHint=False, openWorldHint=False
    )
    description: ClassVar[str] = (
        "Start another conversation that works on a separate task while you go on.\n"
        "It has your configuration and, unless you say otherwise, its own git work tree that begins at "
        "the present commit: what you have not committed is not in it. It does not report back; look at its "
        "branch or its directory for what it has done. Call this once per task: each call starts another one."
    )

    def __init__(self, context: ToolContext) -> None:
        if context.delegation.launch_child is None:
            raise ValueError("only an agent server can start further conversations")
        self._launch: LaunchChild = context.delegation.launch_child

    def effects(self, action: StartChildConversationAction) -> Sequence[Effect]:
        del action
        return (Acts("starts another agent"),)

    async def run(self, action: StartChildConversationAction) -> StartChildConversationObservation:
        try:
            child = await self._launch(_request(action))
        except ChildNotStartedError as error:
            return StartChildConversationObservation(content=[TextContent(text=str(error))], is_error=True)
        where = f"in {child.workspace}" + (", its own work tree" if child.isolation == "worktree" else "")
        text = f"Conversation {child.conversation_id} works on it {where}."
        return StartChildConversationObservation(
            content=[TextContent(text=text)], **child.model_dump(mode="json")
        )


def _request(action: StartChildConversationAction) -> StartChildConversationRequest:
    if not action.task.strip():
        raise ChildNotStartedError("The task is empty: say what the child has to do.")
    title = action.title[:MAX_TITLE_CHARS] if action.title else None
    return StartChildConversationRequest(task=action.task, title=title, isolation=action.isolation)
