"""A tool by which the agent reads the text of a skill. The prompt contains only the names and descriptions of
skills.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import NOTHING, Claim
from agent_runtime.tools.effects import NO_EFFECTS, Effect
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool


class Readable(Protocol):
    """The interface of a skill, as the tool `invoke_skill` uses it. `content`: the text of the skill.
    `directory`: the directory of the files that this text mentions.
    """

    @property
    def content(self) -> str: ...
    @property
    def directory(self) -> str | None: ...


class InvokeSkillAction(Action):
    name: str = Field(description="The name of the skill, as listed in your instructions.")


class InvokeSkillObservation(OwnObservation):
    skill_name: str


class InvokeSkillTool(Tool[InvokeSkillAction]):
    name = "invoke_skill"
    annotations = READS

    def __init__(self, skills: Mapping[str, Readable]) -> None:
        self._skills = skills

    @property
    def description(self) -> str:
        return (
            "Read a skill: step-by-step knowledge for one kind of task, written for this project or user.\n"
            "Call it before you begin a task that one of the listed descriptions fits, then follow the text."
        )

    def claims(self, action: InvokeSkillAction) -> Sequence[Claim]:
        del action
        return NOTHING

    def effects(self, action: InvokeSkillAction) -> Sequence[Effect]:
        del action
        return NO_EFFECTS

    async def run(self, action: InvokeSkillAction) -> InvokeSkillObservation:
        skill = self._skills.get(action.name)
        if skill is None:
            known = ", ".join(self._skills)
            text = f"There is no skill named {action.name}. Skills that exist: {known}."
            return InvokeSkillObservation(
                content=[TextContent(text=text)], is_error=True, skill_name=action.name
            )
        where = f"\n\n[Files it mentions lie in {skill.directory}]" if skill.directory else ""
        return InvokeSkillObservation(
            content=[TextContent(text=skill.content + where)], skill_name=action.name
        )
