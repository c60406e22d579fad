"""A tool whose calls wait for one another, so that tests see which calls run at the same time without a
clock.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.tool import Action, OwnObservation, Tool, ToolContext
from tests.support.patience import PATIENCE_SECONDS


class Meeting:
    """Keeps count of the meeting tool's calls in one workspace: which have arrived, and how
    many run at once.
    """

    _all: dict[Path, "Meeting"] = {}

    def __init__(self) -> None:
        self.at_once = 0
        self.most_at_once = 0
        self._arrived: set[str] = set()
        self._changed = asyncio.Condition()

    @classmethod
    def of(cls, working_dir: Path) -> "Meeting":
        return cls._all.setdefault(working_dir, cls())

    async def arrive(self, place: str) -> None:
        async with self._changed:
            self._arrived.add(place)
            self._changed.notify_all()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(is_so)

    async def attend(self, place: str, waits_for: str | None) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.arrive(place)
            for _ in range(3):  # lets other calls begin, if they may run in parallel
                await asyncio.sleep(0)
            if waits_for is not None:
                await self.until(lambda: waits_for in self._arrived)
        finally:
            self.at_once -= 1


class MeetingAction(Action):
    place: str = Field(description="What this call is called.")
    at: str = Field(description="What it claims.")
    waits_for: str | None = Field(default=None, description="Another call.")
    leaves_trace: bool = Field(default=False, description="Whether it makes a file of its name first.")
    fails: bool = Field(default=False, description="Whether it goes wrong.")


class MeetingObservation(OwnObservation):
    pass


class MeetingTool(Tool[MeetingAction]):
    name = "meeting"
    description = "Waits for others."
    action_type = MeetingAction
    observation_type = MeetingObservation

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir
        self._meeting = Meeting.of(context.working_dir)

    def claims(self, action: MeetingAction) -> Sequence[Claim]:
        return (Claim(PurePosixPath("meeting") / action.at),)

    async def run(self, action: MeetingAction) -> MeetingObservation:
        if action.fails:
            raise RuntimeError("nobody came")
        if action.leaves_trace:
            await asyncio.to_thread((self._working_dir / action.place).touch)
        await self._meeting.attend(action.place, action.waits_for)
        return MeetingObservation(content=[TextContent(text=f"met at {action.place}")])
