"""A file editor for an agent that plans: it can view all files and change only the plan."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.effects import Effect
from agent_runtime.tools.file_editor.models import FileEditorAction, FileEditorObservation
from agent_runtime.tools.file_editor.text_file import write_bytes
from agent_runtime.tools.file_editor.tool import FileEditorTool
from agent_runtime.tools.tool import Tool, ToolAnnotations, ToolContext

PLAN_PATH = ".agents_tmp/PLAN.md"
_OUTLINE = """\
# Plan

## Goal

## What is there now

## Steps

## How to check it

## Risks and open questions
"""
_RESTRICTION = """

You are planning: every file can be viewed, but the one file you can change is the plan, {plan_path}.
It is there from the start, with a heading for each part; fill them in with `str_replace` or `insert`. Others
work by it later.
"""


class PlanningFileEditorAction(FileEditorAction):
    pass


class PlanningFileEditorObservation(FileEditorObservation):
    pass


class PlanningFileEditorTool(Tool[PlanningFileEditorAction]):
    name = "planning_file_editor"
    annotations = ToolAnnotations(
        title="planning_file_editor",
        readOnlyHint=False,
        destructiveHint=False,
        idempotentHint=False,
        openWorldHint=False,
    )

    def __init__(self, context: ToolContext, plan_path: str = PLAN_PATH) -> None:
        """Creates the tool. `plan_path`: the file of the plan, absolute or relative to
        the working directory.
        """
        self._plan = Path(os.path.normpath(context.working_dir / plan_path))
        self._editor = FileEditorTool(context)

    @property
    def description(self) -> str:
        return self._editor.description.rstrip() + _RESTRICTION.format(plan_path=self._plan)

    def claims(self, action: PlanningFileEditorAction) -> Sequence[Claim]:
        return self._editor.claims(action)

    def effects(self, action: PlanningFileEditorAction) -> Sequence[Effect]:
        return self._editor.effects(action)

    async def run(self, action: PlanningFileEditorAction) -> PlanningFileEditorObservation:
        if action.command != "view" and not self._is_plan(action.path):
            return _refused(action, f"Only the plan can be changed while you plan: {self._plan}.")
        try:
            await asyncio.to_thread(_begin, self._plan)
        except OSError as error:
            return _refused(action, f"The plan {self._plan} cannot be written: {error.strerror}.")
        observation = await self._editor.run(action)
        return PlanningFileEditorObservation.model_validate(observation.model_dump())

    def _is_plan(self, path: str) -> bool:
        return os.path.normpath(path) == str(self._plan)


def _begin(plan: Path) -> None:
    if not plan.exists():
        write_bytes(plan, _OUTLINE.encode())


def _refused(action: PlanningFileEditorAction, reason: str) -> PlanningFileEditorObservation:
    return PlanningFileEditorObservation(
        content=[TextContent(text=reason)], is_error=True, command=action.command, path=action.path
    )
