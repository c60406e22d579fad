"""The steps that bring a conversation up, in order. Each may be repeated, and says how it went.

The worker (start_worker.py) runs them; what a step needs to remember, it saves itself.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import Offer, OfferKind, Restored, StartGoalRequest
from app_server.config import Config
from app_server.consents import service as consents
from app_server.consents.models import Decision
from app_server.conversations import agent_request, repository, scripts
from app_server.conversations.allowed import JOINING, Word, identity_of, word_of
from app_server.conversations.catch_up import catch_up
from app_server.conversations.git_work import git_work_of, remotes_of
from app_server.conversations.memory_files import put_notes
from app_server.conversations.models import Conversation, StartStatus
from app_server.conversations.noted import repository_identity
from app_server.conversations.repository import OUTPUT_CHARACTERS
from app_server.conversations.residents import residents_of
from app_server.conversations.schemas import StartRequest
from app_server.conversations.titles import send_title
from app_server.database import Database
from app_server.encryption import Cipher
from app_server.errors import NotFound, StartFailure
from app_server.git.address import Address, check_exists, parse_address
from app_server.git.credentials import credentials_for
from app_server.git.local import refuse_foreign_path
from app_server.git.source import pack
from app_server.git.way import guard_for
from app_server.llm_gateway.proof import proof_of
from app_server.mcp_approvals.service import approvals_of
from app_server.mcp_servers.service import enabled_definitions
from app_server.memory import service as memory
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.service import Origin
from app_server.sandboxes.agent_client import AgentClient
from app_server.sandboxes.models import Sandbox
from app_server.sandboxes.running import RunningSandbox
from app_server.sandboxes.runtime_plugins import tools_offered
from app_server.sandboxes.service import Sandboxes
from app_server.secrets.service import list_secrets
from app_server.settings.confirmation import chosen_mode, default_mode
from app_server.settings.models import DEFAULT_MAX_ITERATIONS, UserSettings, is_recorded
from app_server.settings.profiles import get_profile
from app_server.skills.files import read_skill_files
from app_server.users.models import Role

NOTHING_OFFERED: Mapping[OfferKind, str] = {
    "setup_script": "The repository has no set-up script",
    "git_hook": "The repository has no Git hook",
}


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

    def show(self, output: str) -> None:
        """The end of a command's output, all of it."""
        lines = output.rstrip().splitlines()
        if lines:
            self.say(lines[-1])
        self.output = output


@dataclass
class Start:
    """One start as its steps see it."""

    id: UUID
    sandbox_id: UUID
    folder: str | None
    """See Conversation."""
    user_id: UUID
    role: Role
    request: StartRequest
    repository_url: str | None
    """As the user gave it, possibly with a password; `request` has it without."""
    llm_profile: str
    has_worked: bool
    """Whether an agent may have changed the checkout already, which is then never fetched again."""
    config: Config
    database: Database
    cipher: Cipher
    sandboxes: Sandboxes
    progress: Progress = field(default_factory=Progress)
    _running: RunningSandbox | None = None

    async def sandbox(self) -> RunningSandbox:
        """The sandbox, brought up again if this server has not done so yet."""
        if self._running is None:
            self._running = await self.sandboxes.bring_up(self.sandbox_id, self.progress.log)
        return self._running

    async def sandbox_again(self) -> RunningSandbox:
        """The sandbox, once its agent server answers again."""
        self._running = None
        return await self.sandbox()

    async def workplace(self) -> tuple[AgentClient, str]:
        """The agent server and the conversation's directory, once its repository stands there."""
        running = await self.sandbox()
        async with self.database.read() as session:
            conversation = await session.get_one(Conversation, self.id)
        return running.client, conversation.working_dir or running.working_root

    @property
    def is_guest(self) -> bool:
        """Whether its sandbox was made for another conversation."""
        return self.sandbox_id != self.id

    def root(self, running: RunningSandbox) -> str:
        """What no other conversation works in."""
        return f"{running.working_root}/{self.folder}" if self.folder else running.working_root

    @property
    def identity(self) -> str:
        """What the user's consents are remembered for."""
        return identity_of(self.id, self.request.selected_repository, self.request.git_provider)

    async def offers(self) -> tuple[list[Offer], Word]:
        """What the repository would run, as it is now, and what the user has said of it."""
        client, directory = await self.workplace()
        offers = await client.offers(directory)
        async with self.database.read() as session:
            return offers, await word_of(session, self.user_id, self.identity)


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
        if await session.get(Sandbox, start.sandbox_id) is None:
            origin = await _origin(session, start)
            await start.sandboxes.create(
                session,
                sandbox_id=start.sandbox_id,
                user_id=start.user_id,
                snapshot_id=start.request.snapshot_id,
                base_image=origin.base_image,
                runtime_plugins=origin.runtime_plugins,
            )
        others = len(await residents_of(session, start.sandbox_id)) - 1
    if not start.is_guest:
        return Outcome()
    return Outcome(detail=f"Joined a sandbox with {others} other conversation{'s' * (others != 1)}")


async def _origin(session: AsyncSession, start: Start) -> Origin:
    """Raises StartFailure `sandbox_spec_missing`."""
    try:
        return await sandbox_specs.origin_of(
            session, start.user_id, start.request.sandbox_spec_id, start.request.snapshot_id
        )
    except NotFound as error:
        raise StartFailure(
            "sandbox_spec_missing",
            "The sandbox image that was chosen has been deleted.",
            fix="Start another conversation, from another image.",
        ) from error


async def wait_for_sandbox(start: Start) -> Outcome:
    await start.sandbox()
    return Outcome(output=start.progress.output)


async def prepare_repository(start: Start) -> Outcome:
    sandbox = await start.sandbox()
    if start.repository_url is None:
        directory, detail = start.root(sandbox), "Started an empty repository"
        await repository.start_empty(sandbox.client, directory, await _identity(start))
    else:
        address = parse_address(start.repository_url, start.request.git_provider)
        directory, detail = f"{start.root(sandbox)}/{address.name}", f"Cloned {address.public_url}"
        if not (start.has_worked and await repository.has_checkout(sandbox.client, directory)):
            await _bring_in(start, address, sandbox.client, directory)
    await _open_remotes(start, sandbox.client)
    if start.request.snapshot_id:
        detail = "Took over the files of a snapshot"
    await _save_workplace(start, directory, await repository.head_commit(sandbox.client, directory))
    await _remember_consent(start)
    return Outcome(detail=detail)


async def run_setup_script(start: Start) -> Outcome:
    return await _of_repository(start, "setup_script", _run_setup_script)


async def set_up_git_hooks(start: Start) -> Outcome:
    return await _of_repository(start, "git_hook", _install_git_hook)


async def _run_setup_script(start: Start, script: Offer) -> Outcome:
    client, directory = await start.workplace()
    seconds = max(1, int(start.config.setup_script_timeout_seconds))
    finished = await scripts.run_setup_script(client, directory, script, seconds, start.progress.show)
    return Outcome(detail=f"Ran {script.path}", output=finished.output or None)


async def _install_git_hook(start: Start, script: Offer) -> Outcome:
    client, directory = await start.workplace()
    await scripts.install_git_hook(client, directory, script)
    return Outcome(detail=f"Installed {script.path}")


async def _of_repository(
    start: Start, kind: OfferKind, carry_out: Callable[[Start, Offer], Awaitable[Outcome]]
) -> Outcome:
    """Does what the repository offers, if its user has allowed this version of it."""
    offers, word = await start.offers()
    offer = next((each for each in offers if each.kind == kind), None)
    if offer is None:
        return Outcome("skipped", NOTHING_OFFERED[kind])
    if word.allows(offer):
        return await carry_out(start, offer)
    return Outcome("skipped", _why_not(offer, word))


def _why_not(offer: Offer, word: Word) -> str:
    if offer.problem is not None:
        return f"{offer.path} was not run. {offer.problem}"
    if word.of(offer) is not None:
        return f"{offer.path} was not run: you have refused it"
    if word.approved_before(offer) is not None:
        return f"{offer.path} was not run: it has changed since you allowed it"
    return f"{offer.path} was not run: you have not allowed it yet"


async def set_up_skills(start: Start) -> Outcome:
    address = _address(start.request)
    if address is None:
        return Outcome("skipped", "There are no notes of earlier conversations without a repository")
    client, directory = await start.workplace()
    async with start.database.read() as session:
        notes = await memory.notes_of(session, start.user_id, address.identity)
    await put_notes(client, directory, notes)
    return Outcome(detail=f"Notes of earlier conversations: {len(notes)}")


async def start_conversation(start: Start) -> Outcome:
    running = await start.sandbox()
    client, directory = await start.workplace()
    async with start.database.read() as session:
        row = await session.get_one(Conversation, start.id)
        has_begun, new_title = row.last_seq > 0, row.unsent_title
        sandbox = await session.get_one(Sandbox, start.sandbox_id)
        profile = await get_profile(session, start.user_id, start.llm_profile)
        secrets = await list_secrets(session, start.user_id)
        identity = repository_identity(start.request.selected_repository, start.request.git_provider)
        approved = await approvals_of(session, start.user_id, identity)
        mcp_servers = await enabled_definitions(session, start.cipher, start.user_id)
        mode = start.request.confirmation_mode or await chosen_mode(session, start.user_id)
        own = await session.get(UserSettings, start.user_id)
    offers, word = await start.offers()
    # A recording has no turn for a title: it is the first words there too.
    title = new_title or start.request.title or (row.title if is_recorded(profile.model) else None)
    request = start.request.model_copy(update={"title": title})
    conversation = await client.create_conversation(
        agent_request.build(
            # What was said first stands in the log, also where the sandbox has lost it.
            request.model_copy(update={"initial_message": None}) if has_begun else request,
            conversation_id=start.id,
            sandbox_id=start.sandbox_id,
            profile=profile,
            inner_url=running.inner_url,
            model_proof=proof_of(start.cipher, start.id),
            working_dir=directory,
            skill_files=await asyncio.to_thread(read_skill_files, start.config, start.user_id),
            mode=mode or default_mode(is_isolated=start.sandboxes.describe().is_isolated),
            secrets={secret.name: secret.description for secret in secrets},
            consent=[each.hash for each in offers if each.kind in JOINING and word.allows(each)],
            usable_tools=tools_offered(sandbox, await client.usable_tools()),
            mcp_approved=approved,
            mcp_servers=mcp_servers,
            max_iterations=(own.max_iterations if own else None) or DEFAULT_MAX_ITERATIONS,
        )
    )
    if has_begun:
        await catch_up(start.database, client, start.id, Restored(id=start.sandbox_id.hex, lost_events=0))
    # A step that is repeated finds the goal as it stands.
    elif start.request.goal and "goal" not in conversation.agent_state:
        goal = StartGoalRequest(
            objective=start.request.objective, max_iterations=start.request.goal.max_iterations
        )
        await client.start_goal(start.id, goal)
    if new_title is not None:
        await send_title(start.database, client, start.id, new_title)
    waiting = [each.path for each in offers if each.kind in JOINING and not word.allows(each)]
    return Outcome(detail=f"Without {', '.join(dict.fromkeys(waiting))}: not allowed" if waiting else None)


STEPS: tuple[tuple[StartStatus, Step], ...] = (
    (StartStatus.WORKING, create_sandbox),
    (StartStatus.WAITING_FOR_SANDBOX, wait_for_sandbox),
    (StartStatus.PREPARING_REPOSITORY, prepare_repository),
    (StartStatus.RUNNING_SETUP_SCRIPT, run_setup_script),
    (StartStatus.SETTING_UP_GIT_HOOKS, set_up_git_hooks),
    (StartStatus.SETTING_UP_SKILLS, set_up_skills),
    (StartStatus.STARTING_CONVERSATION, start_conversation),
)


def _address(request: StartRequest) -> Address | None:
    if request.selected_repository is None:
        return None
    return parse_address(request.selected_repository, request.git_provider)


async def _bring_in(start: Start, address: Address, client: AgentClient, directory: str) -> None:
    refuse_foreign_path(address, start.role)
    await asyncio.to_thread(check_exists, address)
    scratch = await asyncio.to_thread(_emptied, start.config.home / "clones" / start.id.hex)
    async with start.database.read() as session:
        credentials = await credentials_for(session, start.cipher, start.user_id, address)
    try:
        start.progress.say(f"Cloning {address.public_url}")
        packed = await pack(
            address,
            start.request.selected_branch,
            directory=scratch,
            timeout_seconds=start.config.clone_timeout_seconds,
            report=start.progress.say,
            credentials=credentials,
            guard=guard_for(start.config, start.role),
        )
        start.progress.say("Moving the repository into the sandbox")
        await repository.check_out(client, packed, address, directory, await _identity(start))
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


async def _identity(start: Start) -> repository.Identity:
    async with start.database.read() as session:
        own = await session.get(UserSettings, start.user_id)
    return repository.Identity(own.git_user_name, own.git_user_email) if own else repository.Identity()


def _emptied(directory: Path) -> Path:
    """A server that was killed has left there what it had fetched by then."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, mode=0o700)
    return directory


async def _open_remotes(start: Start, client: AgentClient) -> None:
    async with start.database.read() as session:
        sandbox = await session.get_one(Sandbox, start.sandbox_id)
        work = await git_work_of(session, start.cipher, sandbox)
    await client.set_git_remotes(remotes_of(work))


async def _save_workplace(start: Start, directory: str, base_commit: str | None) -> None:
    async with start.database.session() as session:
        await session.execute(
            update(Conversation)
            .where(Conversation.id == start.id)
            .values(working_dir=directory, base_commit=base_commit)
        )


async def _remember_consent(start: Start) -> None:
    """Of the request itself. Once the agent has worked, what stands there may be its own work."""
    if start.request.consent and not start.has_worked:
        offers, _ = await start.offers()
        allowed = [each for each in offers if each.hash in start.request.consent and each.problem is None]
        async with start.database.session() as session:
            await consents.decide(session, start.user_id, start.identity, allowed, Decision.ALLOWED)
