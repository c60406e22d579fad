"""The image builds that are running. If two sandbox starts need the same image, the image is built once, and
both starts receive the progress lines of the build.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from app_server.core.start_report import Report

_REPEATED_LINES = 20

Build = Callable[[Report], Awaitable[None]]


@dataclass(eq=False)
class _Running:
    task: asyncio.Task[None] | None = None
    reports: list[Report] = field(default_factory=list)
    recent_lines: deque[str] = field(default_factory=lambda: deque(maxlen=_REPEATED_LINES))

    def say(self, line: str) -> None:
        self.recent_lines.append(line)
        for report in self.reports:
            report(line)


class Builds:
    """The running image builds of one sandbox backend. There are two groups: images on base images that users
    have chosen, and all other images. In each group, images are built one after the other. The groups do not
    wait for each other.
    """

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._turns = {is_own: asyncio.Semaphore(1) for is_own in (True, False)}

    async def run(self, image: str, build: Build, report: Report, *, is_own: bool) -> None:
        """Builds the image, or waits for the running build of the same image. Returns when the image is
        built. Raises the errors of `build`. If all callers that wait for a build are cancelled, the build is
        cancelled too.

        `build`: the function that builds the image. `report`: receives the progress lines. `is_own`: whether
        a user has chosen the base image on which `image` is built.
        """
        running = self._running.get(image)
        if running is None:
            running = self._running[image] = _Running()
            running.task = asyncio.create_task(self._build(image, build, running, is_own), name="build image")
        else:
            report("Waiting for the image build that runs already")
            for line in running.recent_lines:
                report(line)
        assert running.task
        running.reports.append(report)
        try:
            await asyncio.shield(running.task)
        finally:
            running.reports.remove(report)
            if not running.reports and not running.task.done():
                self._forget(image, running)
                running.task.cancel()
                await asyncio.wait({running.task})

    async def _build(self, image: str, build: Build, running: _Running, is_own: bool) -> None:
        turn = self._turns[is_own]
        try:
            if turn.locked():
                running.say("Waiting for the build of another image")
            async with turn:
                await build(running.say)
        finally:
            self._forget(image, running)

    def _forget(self, image: str, running: _Running) -> None:
        """Removes the build `running` of this image from the collection of running builds, so that later
        sandbox starts begin a new build. Does nothing if the collection does not contain `running`, for
        example because a newer build of the image has replaced it.
        """
        if self._running.get(image) is running:
            del self._running[image]
