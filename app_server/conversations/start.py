"""The steps that bring a conversation up, in order. Each may be repeated, and says how it went.

The worker (start_worker.py) runs them; what a step needs to remember, it saves itself.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from uuid import UUID

from sqlalchemy import update

from app_server.config import Config
from app_server.conversations import agent_request, repository
from app_server.conversations.models import Conversation, StartStatus
from app_server.conversations.schemas import StartRequest
from app_server.database import Database
from app_server.errors import StartFailure
from app_server.git.address import Address, check_exists, parse_address
from app_server.git.source import pack
from app_server.sandboxes.agent_client import AgentClient
from app_server.sandboxes.models import Sandbox
from app_server.sandboxes.service import RunningSandbox, Sandboxes
from app_server.settings.profiles import get_profile
from app_server.users.models import Role

OUTPUT_CHARACTERS = 8192


class Progress:
    """What the running step is doing: `detail` is the latest, `output` the last lines of its command."""

    def __init__(self) -> None:
        self.detail: str | None = None
        self.output: str | None = None

    def say(self, line: str) -> None:
        self.detail = line[:500]

    def log(self, line: str) -> None:
        self.say(line)
        self.output = ((self.output + "\n" if self.output else "") + line)[-OUTPUT_CHARACTERS:]


@dataclass
class Start:
    """One start as its steps see it."""

    id: UUID
    user_id: UUID
    role: Role
    request: StartRequest
    repository_url: str | None
    """As the user gave it, possibly with a password; `request` has it without."""
    llm_profile: str
    has_worked: bool
    """Whether the agent may have changed the checkout already, which is then never fetched again."""
    config: Config
    database: Database
    sandboxes: Sandboxes
    progress: Progress = field(default_factory=Progress)
    _running: RunningSandbox | None = None

    async def sandbox(self) -> RunningSandbox:
        """The sandbox, brought up again if this server has not done so yet."""
        if self._running is None:
            self._running = await self.sandboxes.bring_up(self.id, self.progress.log)
        return self._running

    async def workplace(self) -> tuple[AgentClient, str]:
        """The agent server and the conversation's directory, once its repository stands there."""
        running = await self.sandbox()
        async with self.database.read() as session:
            sandbox = await session.get_one(Sandbox, self.id)
        return running.client, sandbox.working_dir or running.working_root


@dataclass(frozen=True)
class Outcome:
    state: Literal["done", "skipped"] = "done"
    detail: str | None = None
    output: str | None = None


Step = Callable[[Start], Awaitable[Outcome]]


async def create_sandbox(start: Start) -> Outcome:
    async with start.database.session() as session:
        profile = await get_profile(session, start.user_id, start.llm_profile)
        await session.execute(
            update(Conversation).where(Conversation.id == start.id).values(llm_model=profile.model)
        )
        if await session.get(Sandbox, start.id) is None:
            await start.sandboxes.create(session, sandbox_id=start.id, user_id=start.user_id)
    return Outcome()


async def wait_for_sandbox(start: Start) -> Outcome:
    await start.sandbox()
    return Outcome(output=start.progress.output)


async def prepare_repository(start: Start) -> Outcome:
    sandbox = await start.sandbox()
    if start.repository_url is None:
        directory, detail = sandbox.working_root, "Started an empty repository"
        await repository.start_empty(sandbox.client, directory)
    else:
        address = parse_address(start.repository_url, start.request.git_provider)
        directory, detail = f"{sandbox.working_root}/{address.name}", f"Cloned {address.public_url}"
        if not (start.has_worked and await repository.has_checkout(sandbox.client, directory)):
            await _bring_in(start, address, sandbox.client, directory)
    await _save_workplace(start, directory, await repository.head_commit(sandbox.client, directory))
    return Outcome(detail=detail)


async def run_setup_script(start: Start) -> Outcome:
    client, directory = await start.workplace()
    seconds = max(1, int(start.config.setup_script_timeout_seconds))
    finished = await repository.run_setup_script(client, directory, seconds)
    if finished is None:
        return Outcome("skipped", "The repository has no .openhands/setup.sh")
    return Outcome(detail="Ran .openhands/setup.sh", output=finished.output or None)


async def set_up_git_hooks(start: Start) -> Outcome:
    client, directory = await start.workplace()
    if await repository.install_pre_commit(client, directory):
        return Outcome(detail="Installed .openhands/pre-commit.sh")
    return Outcome("skipped", "The repository has no .openhands/pre-commit.sh")


async def set_up_skills(_start: Start) -> Outcome:
    return Outcome("skipped", "No skills are configured")


async def start_conversation(start: Start) -> Outcome:
    running = await start.sandbox()
    client, directory = await start.workplace()
    async with start.database.read() as session:
        profile = await get_profile(session, start.user_id, start.llm_profile)
    await client.create_conversation(
        agent_request.build(
            start.request,
            conversation_id=start.id,
            model=profile.model,
            llm_profile=profile.name,
            inner_url=running.inner_url,
            working_dir=directory,
        )
    )
    return Outcome()


STEPS: tuple[tuple[StartStatus, Step], ...] = (
    (StartStatus.WORKING, create_sandbox),
    (StartStatus.WAITING_FOR_SANDBOX, wait_for_sandbox),
    (StartStatus.PREPARING_REPOSITORY, prepare_repository),
    (StartStatus.RUNNING_SETUP_SCRIPT, run_setup_script),
    (StartStatus.SETTING_UP_GIT_HOOKS, set_up_git_hooks),
    (StartStatus.SETTING_UP_SKILLS, set_up_skills),
    (StartStatus.STARTING_CONVERSATION, start_conversation),
)


def refuse_foreign_path(address: Address, role: Role) -> None:
    """Raises StartFailure when the user may not read repositories of the server's machine."""
    if address.local_path is not None and role not in {Role.OWNER, Role.ADMIN}:
        raise StartFailure(
            "repository_not_allowed",
            "Only owners and admins may use repositories that lie on the server.",
            fix="Give a git URL, or ask an owner.",
        )


async def _bring_in(start: Start, address: Address, client: AgentClient, directory: str) -> None:
    refuse_foreign_path(address, start.role)
    await asyncio.to_thread(check_exists, address)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="slipway-clone-"))
    try:
        start.progress.say(f"Cloning {address.public_url}")
        packed = await pack(
            address,
            start.request.selected_branch,
            directory=scratch,
            timeout_seconds=start.config.clone_timeout_seconds,
            report=start.progress.say,
        )
        start.progress.say("Moving the repository into the sandbox")
        await repository.check_out(client, packed, address, directory)
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


async def _save_workplace(start: Start, directory: str, base_commit: str | None) -> None:
    async with start.database.session() as session:
        await session.execute(update(Sandbox).where(Sandbox.id == start.id).values(working_dir=directory))
        await session.execute(
            update(Conversation).where(Conversation.id == start.id).values(base_commit=base_commit)
        )
