"""The tool `finish`: the agent calls it when the task is done, and then stops until the next message of the
user.
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, field_validator

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import EVERYTHING, Claim
from agent_runtime.tools.effects import NO_EFFECTS, Effect
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool


class FinishAction(Action):
    off_wire: ClassVar[frozenset[str]] = frozenset({"changed", "checked"})

    message: str = Field(description="The last message of this turn, for the user to read.")
    changed: list[str] | None = Field(
        default=None, description="The files you changed in this turn. Leave it out if you changed none."
    )
    checked: list[str] | None = Field(
        default=None,
        description="The commands, as you ran them after your last change, that show that it works. They are "
        "looked up in the log. Leave it out if none ran, and say so in the message.",
    )

    @field_validator("changed", "checked", mode="before")
    @classmethod
    def _lines_are_a_list(cls, value: object) -> object:
        return value.splitlines() if isinstance(value, str) else value


class FinishObservation(OwnObservation):
    pass


class FinishTool(Tool[FinishAction]):
    name = "finish"
    annotations = READS.titled("finish")

    @property
    def description(self) -> str:
        return (
            "End your turn and hand over to the user.\n"
            "Call it when the task is done and checked, or when you cannot go on without the user. "
            "The message says what you changed and how you know that it works, what is left, and, "
            "if you could not finish, why and what you need."
        )

    def claims(self, action: FinishAction) -> Sequence[Claim]:
        # The call runs last: a later result would cause another turn.
        del action
        return EVERYTHING

    def effects(self, action: FinishAction) -> Sequence[Effect]:
        del action
        return NO_EFFECTS

    async def run(self, action: FinishAction) -> FinishObservation:
        return FinishObservation(content=[TextContent(text=action.message)])
