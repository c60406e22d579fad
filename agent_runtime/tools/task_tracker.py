"""The tool with which the agent reads and changes its task list. The list is stored on disk and shown to
people.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import NO_EFFECTS, Effect
from agent_runtime.tools.tool import Action, OwnObservation, Tool, ToolAnnotations, ToolContext
from agent_runtime.workspace.local import replacing
from agent_runtime.workspace.users import server_files

Command = Literal["view", "plan"]


class TaskItem(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(description="The task in a few words.")
    notes: str = Field(default="", description="What helps to do it, or what came of it.")
    status: Literal["todo", "in_progress", "done"] = Field(default="todo", description="Where it stands.")


class TaskTrackerAction(Action):
    command: Command = Field(
        default="view", description="`view` shows the list; `plan` replaces it by `task_list`."
    )
    task_list: list[TaskItem] = Field(
        default=[], description="For `plan`: all tasks, those that are done included, in order."
    )


class TaskTrackerObservation(OwnObservation):
    command: Command
    task_list: list[TaskItem] = []


_TASKS = TypeAdapter(list[TaskItem])


class TaskTrackerTool(Tool[TaskTrackerAction]):
    name = "task_tracker"
    annotations = ToolAnnotations(
        readOnlyHint=False, destructiveHint=False, idempotentHint=True, openWorldHint=False
    )

    def __init__(self, context: ToolContext) -> None:
        self._path = context.state_dir / "TASKS.json"

    @property
    def description(self) -> str:
        return (
            "Keep a list of tasks that the user can follow.\n"
            "Use it for work of several steps: plan before you start, set one task to in_progress while you "
            "work on it, to done only when it is done and checked, and add what you find on the way. "
            "`plan` always takes the whole list. For a small change do without it."
        )

    def claims(self, action: TaskTrackerAction) -> Sequence[Claim]:
        return (file_claim(self._path, is_shared=action.command == "view"),)

    def effects(self, action: TaskTrackerAction) -> Sequence[Effect]:
        del action  # a separate list
        return NO_EFFECTS

    async def run(self, action: TaskTrackerAction) -> TaskTrackerObservation:
        if action.command == "plan":
            await asyncio.to_thread(_store, self._path, action.task_list)
            text = f"Task list has been updated with {len(action.task_list)} item(s)."
            return _answer(action, text, action.task_list)
        try:
            tasks = await asyncio.to_thread(_load, self._path)
        except ValidationError:
            text = "The stored task list cannot be read. Write it anew with `plan`."
            return _answer(action, text, [], is_error=True)
        return _answer(action, _listing(tasks), tasks)


def _store(path: Path, tasks: list[TaskItem]) -> None:
    with server_files(), replacing(path) as file:
        file.write(_TASKS.dump_json(tasks, indent=1))


def _load(path: Path) -> list[TaskItem]:
    return _TASKS.validate_json(path.read_bytes()) if path.exists() else []


def _listing(tasks: list[TaskItem]) -> str:
    marks = {"todo": "[ ]", "in_progress": "[>]", "done": "[x]"}
    lines = [
        f"{number}. {marks[task.status]} {task.title}{f' ({task.notes})' if task.notes else ''}"
        for number, task in enumerate(tasks, start=1)
    ]
    return "\n".join(lines) or "The task list is empty. Use `plan` to fill it."


def _answer(
    action: TaskTrackerAction, text: str, tasks: list[TaskItem], *, is_error: bool = False
) -> TaskTrackerObservation:
    return TaskTrackerObservation(
        content=[TextContent(text=text)], is_error=is_error, command=action.command, task_list=tasks
    )
