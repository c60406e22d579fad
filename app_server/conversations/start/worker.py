"""Carries out the starts of conversations and the removal of deleted conversations. Each app server has one
start worker. Several app servers may run at the same time.

Before a worker starts a conversation, it leases the start task in SQL: for a limited time, no other worker
may work on this start. If a server dies, its leases expire, and another worker continues with the interrupted
step. If the server is started again in the same home directory, it continues with its interrupted starts at
once.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import select

from agent_runtime.time_limits import time_limit
from app_server.agent_client.calls import NoAnswer
from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.live.change_notices import news_of
from app_server.conversations.models import STAGES, Conversation, StartStatus, StartTask
from app_server.conversations.removal import FailedRemovals, deleted_conversations, take_down
from app_server.conversations.schemas import StartRequest
from app_server.conversations.service import bring_back
from app_server.conversations.start import pending_messages as pending
from app_server.conversations.start import setup_script as setup_run
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.context import HasOwnTools, Progress, Start, StepOutcome, no_own_tools
from app_server.conversations.start.failures import start_error
from app_server.conversations.start.stage_changes import finisher, progress_setter
from app_server.conversations.start.steps import STEPS
from app_server.conversations.start.tasks import Claim, LeaseLost
from app_server.conversations.view import Viewer
from app_server.core.config import Config
from app_server.core.database import UNAVAILABLE, Database
from app_server.core.encryption import Cipher
from app_server.core.pubsub import PubSub
from app_server.core.server_objects import from_server
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import User

logger = logging.getLogger(__name__)

MAX_CONCURRENT = 8
MAX_OWNED = 64
POLL_SECONDS = 2.0
RENEW_SECONDS = 3.0
PROGRESS_SECONDS = 0.3
MAX_SILENCES = 5
_OWNER_FILE = "start-worker"
_TAKE_DOWN = "take down"


class StartWorker:
    """The background worker of an app server that carries out the starts of conversations.

    `open` starts the worker. `wake` tells the worker that a new conversation waits for its start. `close`
    stops the worker, so that other workers can continue its starts.
    """

    def __init__(
        self,
        config: Config,
        database: Database,
        cipher: Cipher,
        sandboxes: Sandboxes,
        pubsub: PubSub,
        git_tokens: HostTokens,
        *,
        has_own_tools: HasOwnTools = no_own_tools,
    ) -> None:
        """Creates a start worker that does not run yet. `has_own_tools`: a function that returns whether
        Slipway's own MCP server has tools to offer. If it has, the agent of a new conversation can use this
        MCP server. The function is an argument, because this module may not import the modules of the MCP
        server.
        """
        self._has_own_tools, self._git_tokens = has_own_tools, git_tokens
        self._config = config
        self._database = database
        self._cipher = cipher
        self._sandboxes = sandboxes
        self._pubsub = pubsub
        self._viewer = Viewer(sandboxes)
        self._owner = secrets.token_hex(16)
        self._woken = asyncio.Event()
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._sandbox_of: dict[UUID, UUID] = {}
        self._failed_removals = FailedRemovals()
        self._loop: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Starts the worker. Only one server at a time may run a worker in a home directory (the data
        directory of a server). If the previous worker of this home directory was killed, first ends the
        leases of that worker (its rights to work on starts), so that these starts can continue.
        """
        await self._take_over()
        self._loop = asyncio.create_task(self._run(), name="start worker")

    def wake(self) -> None:
        self._woken.set()

    async def close(self) -> None:
        """Stops all steps that this worker runs, and releases its leases (its rights to work on starts), so
        that another worker can continue the starts.
        """
        tasks = [*self._tasks.values(), *([self._loop] if self._loop else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with self._database.session() as session:
            await start_tasks.release(session, self._owner)

    async def announce(self, conversation_id: UUID) -> None:
        """Sends the current state of the conversation and of its start to the clients that follow the
        conversation.
        """
        async with self._database.read() as session:
            news = await news_of(session, self._viewer, conversation_id)
        news.publish(self._pubsub)

    async def announce_sandbox(self, sandbox_id: UUID) -> None:
        """Sends the current state of each conversation in the sandbox to the clients that follow the
        conversation.
        """
        async with self._database.read() as session:
            residents = [each.id for each in await residents_of(session, sandbox_id)]
        for conversation_id in residents:
            await self.announce(conversation_id)

    async def bring_back(self, sandbox_id: UUID) -> None:
        """Restores the sandbox if it is archived. For this purpose, reopens the start of the newest
        conversation in the sandbox.
        """
        async with self._database.session() as session:
            residents = await residents_of(session, sandbox_id)
            if not residents:
                return
            task = await session.get_one(StartTask, residents[-1].id, with_for_update=True)
            if not await bring_back(session, task):
                return
        self.wake()
        await self.announce_sandbox(sandbox_id)

    async def _take_over(self) -> None:
        """Releases the leases (rights to work on starts) of the previous worker of this home directory, if
        that worker was killed. So this worker can continue the starts at once. The home directory is the data
        directory of the server.
        """
        note = self._config.home / _OWNER_FILE
        if before := await asyncio.to_thread(_exchange, note, self._owner):
            async with self._database.session() as session:
                await start_tasks.release(session, before)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._claim_free()
                await self._take_down_deleted()
                await self._end_cut_off_scripts()
            except Exception:
                # The loop must outlive a bad round; the round itself is reported.
                logger.exception("start worker round failed")
            try:
                async with time_limit(POLL_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _claim_free(self) -> None:
        while len(self._tasks) < MAX_OWNED and self._busy < MAX_CONCURRENT:
            async with self._database.session() as session:
                claim = await start_tasks.claim(
                    session, self._owner, self._sandboxes.server_id, under_way=list(self._tasks)
                )
            if claim is None:
                return
            self._sandbox_of[claim.id] = claim.sandbox_id
            self._own(claim.id, self._work(claim))

    @property
    def _busy(self) -> int:
        """Returns how many starts this worker is carrying out. Starts that wait for free memory are not
        counted.
        """
        return sum(not self._sandboxes.is_waiting(self._sandbox_of.get(each, each)) for each in self._tasks)

    async def _take_down_deleted(self) -> None:
        """Begins the removal of deleted conversations. If a conversation still starts, only cancels its
        start: a later round begins the removal when the start has ended. The worker does not wait for this,
        because a step that may not be interrupted would delay all other starts.
        """
        under_way = {
            each
            for each, task in self._tasks.items()
            if task.get_name() == _TAKE_DOWN or task.cancelling() > 0
        }
        removals = sum(self._tasks[each].get_name() == _TAKE_DOWN for each in under_way)
        for conversation_id in await deleted_conversations(
            self._database,
            MAX_CONCURRENT - removals,
            self._sandboxes.server_id,
            leave_out=under_way | self._failed_removals.waiting(),
        ):
            if working := self._tasks.get(conversation_id):
                working.cancel()
            else:
                self._own(conversation_id, self._take_down(conversation_id), name=_TAKE_DOWN)

    async def _take_down(self, conversation_id: UUID) -> None:
        try:
            await take_down(self._database, self._sandboxes, conversation_id)
        except Exception as error:  # noqa: BLE001 (it is logged, and a later round tries again)
            self._failed_removals.add(conversation_id, error)
        else:
            self._failed_removals.forget(conversation_id)

    async def _end_cut_off_scripts(self) -> None:
        async with self._database.session() as session:
            cut_off = await setup_run.end_cut_off(session)
        for conversation_id in cut_off:
            await self.announce(conversation_id)

    def _own(self, key: UUID, work: Coroutine[Any, Any, None], name: str = "start") -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks[key] = task

        def finished(done: asyncio.Task[None]) -> None:
            if self._tasks.get(key) is done:
                del self._tasks[key]
                self._sandbox_of.pop(key, None)
            if not done.cancelled() and (error := done.exception()):
                logger.error("start worker task failed", exc_info=error, extra={"conversation_id": key.hex})
            else:
                self.wake()

        task.add_done_callback(finished)

    async def _work(self, claim: Claim) -> None:
        """Runs the steps of a conversation's start and regularly extends the lease, the right to work on this
        start. Stops the steps if the lease is lost.
        """
        steps = asyncio.create_task(self._steps(claim.id), name="start steps")
        lease = asyncio.create_task(self._keep_lease(claim.id), name="start lease")
        try:
            with self._sandboxes.keep_up(claim.sandbox_id):
                await asyncio.wait({steps, lease}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            steps.cancel()
            lease.cancel()
            results = await asyncio.gather(steps, lease, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, LeaseLost):
                raise result

    async def _keep_lease(self, task_id: UUID) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            async with self._database.session() as session:
                await start_tasks.renew(session, task_id, self._owner)

    async def _steps(self, task_id: UUID) -> None:
        start = await self._load(task_id)
        for stage, step in STEPS:
            if await self._is_past(task_id, stage):
                continue
            await self._change(task_id, partial(start_tasks.begin_stage, status=stage))
            start.progress = Progress()
            try:
                outcome = await self._with_progress(task_id, stage, start.progress, step(start))
                if stage is STAGES[-1]:
                    await self._hand_over(start, outcome)
                else:
                    await self._change(task_id, finisher(stage, outcome))
            except (LeaseLost, asyncio.CancelledError, *UNAVAILABLE):
                raise  # without the database nothing can be stored; the next worker continues
            except Exception as error:  # noqa: BLE001 (whatever happens, the user is told at its stage)
                failure = start_error(error, stage, task_id)
                await self._change(task_id, partial(start_tasks.fail, stage=stage, error=failure))
                return

    async def _with_progress(
        self, task_id: UUID, stage: StartStatus, progress: Progress, step: Awaitable[StepOutcome]
    ) -> StepOutcome:
        """Runs one step of a start and returns the step's outcome. While the step runs, its progress is
        stored at intervals in the start task, the row that describes the start. So the user can see the
        progress.
        """
        work = asyncio.ensure_future(step)
        saved = (progress.detail, progress.output)
        try:
            while not (await asyncio.wait({work}, timeout=PROGRESS_SECONDS))[0]:
                if (latest := (progress.detail, progress.output)) != saved:
                    saved = latest
                    await self._change(task_id, progress_setter(stage, *latest))
            return work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _hand_over(self, start: Start, outcome: StepOutcome) -> None:
        """Sends the waiting messages of the conversation to the agent server, oldest first. When no message
        waits any more, sets the start to READY. `outcome`: the result of the last step, which is then stored
        in the row of the start.
        """
        running, silences = await start.sandbox(), 0

        def finish(task: StartTask) -> None:
            finisher(STAGES[-1], outcome)(task)
            task.status, task.detail, task.agent_server_url = StartStatus.READY, None, running.client.url

        while True:
            async with self._database.session() as session:
                # Locked, so that no message can join the queue while we find it empty.
                await start_tasks.change(session, start.id, self._owner, lambda _task: None)
                message = await pending.first(session, start.id)
                if message is None:
                    await start_tasks.change(session, start.id, self._owner, finish)
                    break
            try:
                await running.client.send_message(start.id, pending.for_agent(message))
            except NoAnswer:
                if (silences := silences + 1) > MAX_SILENCES:
                    raise
                running = await start.sandbox_again()
                continue
            async with self._database.session() as session:
                await pending.forget(session, start.id, message.id)
        await self.announce(start.id)

    async def _load(self, task_id: UUID) -> Start:
        async with self._database.read() as session:
            query = (
                select(StartTask, Conversation.llm_profile, Conversation.folder, User)
                .join(Conversation, Conversation.id == StartTask.id)
                .join(User, User.id == StartTask.user_id)
                .where(StartTask.id == task_id)
            )
            row = (await session.execute(query)).one_or_none()
        if row is None:
            raise LeaseLost
        task, llm_profile, folder, user = row
        request = StartRequest.model_validate(task.request)
        encrypted = task.encrypted_repository_url
        return Start(
            id=task.id,
            sandbox_id=task.sandbox_id,
            folder=folder,
            user_id=task.user_id,
            administers=user.administers_installation,
            request=request,
            repository_url=self._cipher.decrypt(encrypted) if encrypted else request.selected_repository,
            llm_profile=llm_profile,
            has_worked=start_tasks.stage_of(task, STAGES[-1]).state == "done"
            or request.snapshot_id is not None,
            config=self._config,
            database=self._database,
            cipher=self._cipher,
            sandboxes=self._sandboxes,
            git_tokens=self._git_tokens,
            has_own_tools=self._has_own_tools,
        )

    async def _is_past(self, task_id: UUID, stage: StartStatus) -> bool:
        async with self._database.read() as session:
            task = await session.get(StartTask, task_id)
        if task is None:
            raise LeaseLost
        return start_tasks.stage_of(task, stage).state in {"done", "skipped"}

    async def _change(self, task_id: UUID, apply: Callable[[StartTask], None]) -> None:
        async with self._database.session() as session:
            await start_tasks.change(session, task_id, self._owner, apply)
            news = await news_of(session, self._viewer, task_id)
        news.publish(self._pubsub)


ServerStartWorker = Annotated[StartWorker, from_server("start_worker")]


def _exchange(path: Path, text: str) -> str | None:
    """Writes `text` into the file at `path`. Returns the file's previous content, or None if there was no
    file. The worker writes its id into a file of the home directory (the data directory of the server). So it
    learns the id of the worker that used this directory before.
    """
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    return before
