"""The tool `think`. A call does nothing, but the thought that the agent writes is stored in the event log."""

from collections.abc import Sequence

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import NOTHING, Claim
from agent_runtime.tools.effects import NO_EFFECTS, Effect
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool


class ThinkAction(Action):
    thought: str = Field(description="The thought, in as much detail as helps.")


class ThinkObservation(OwnObservation):
    pass


class ThinkTool(Tool[ThinkAction]):
    name = "think"
    annotations = READS

    @property
    def description(self) -> str:
        return (
            "Write down a thought. Nothing is run and nothing changes; the thought is kept in the log.\n"
            "Use it before a decision that is hard to take back: to compare several possible causes of a "
            "failure, to weigh designs, or to check a plan against what the tests have just shown."
        )

    def claims(self, action: ThinkAction) -> Sequence[Claim]:
        del action
        return NOTHING

    def effects(self, action: ThinkAction) -> Sequence[Effect]:
        del action
        return NO_EFFECTS

    async def run(self, action: ThinkAction) -> ThinkObservation:
        del action  # it is in the log already
        return ThinkObservation(content=[TextContent(text="Your thought has been logged.")])
