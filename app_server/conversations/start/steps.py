"""The steps that start a conversation: from creating the sandbox to sending the first message. The start
worker (worker.py) runs them in order. Each step may run again after a failure, returns its outcome, and
stores in SQL what later steps need.
"""

import asyncio
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import StartGoalRequest
from app_server.access.audit_trail import AuditTrail
from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.audit.actions import ActorMeans
from app_server.audit.chain import Actor
from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.log.memory_writer import repository_identity
from app_server.conversations.models import Conversation, StartStatus
from app_server.conversations.repositories import clone_mode, more_repositories, work_directory
from app_server.conversations.repositories.clone_mode import mode_for
from app_server.conversations.repositories.git_access import providers_with_token
from app_server.conversations.repositories.git_settings import git_settings_of
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.conversations.repositories.submodules import KeptSubmodule, submodules_in, words_about
from app_server.conversations.schemas import StartRequest
from app_server.conversations.sharing.owning_team import refuse_submodules_of_other_teams
from app_server.conversations.start import agent_request, marketplaces, repository
from app_server.conversations.start.context import Start, Step, StepOutcome
from app_server.conversations.start.loadable_executables import left_out_of, loadable_of
from app_server.conversations.start.log_reconciliation import reason_of, reconcile_log
from app_server.conversations.start.memory_files import put_notes
from app_server.conversations.start.script_steps import run_setup_script, set_up_git_hooks
from app_server.conversations.titles import send_title
from app_server.core.errors import AppError, NotFound, StartFailure
from app_server.git.address import Address, check_exists, parse_address
from app_server.git.local_repositories import refuse_foreign_path
from app_server.git.pinned_git import guard_for, way_to
from app_server.git.redirects import require_member_of_moved
from app_server.git.repository_bundle import pack
from app_server.levels.models import SettingName
from app_server.levels.service import value_for
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.marketplaces.service import Loaded
from app_server.mcp_approvals.service import approvals_of
from app_server.mcp_servers.brokered_variables import definitions_for_sandboxes
from app_server.memory import service as memory
from app_server.sandbox_records.models import Sandbox
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.service import Origin
from app_server.sandboxes.runtime_plugins import remember_plugins, tools_offered
from app_server.secrets.in_effect import secrets_for
from app_server.settings.cloning import DEFAULT_MODE, CloneMode
from app_server.settings.confirmation import default_mode, mode_of_task
from app_server.settings.fallbacks import fallbacks_of
from app_server.settings.models import DEFAULT_MAX_ITERATIONS, UserSettings, is_recorded
from app_server.settings.profile_lookup import callable_profile
from app_server.skills.choices import choices_of, disabled_in
from app_server.skills.installed import skill_files
from app_server.teams.repositories.first_team import put_team_of_sandbox_first
from app_server.trust_grants import service as consents
from app_server.trust_grants.decisions import record_decisions
from app_server.trust_grants.models import Decision


async def create_sandbox(start: Start) -> StepOutcome:
    async with start.database.session() as session:
        await put_team_of_sandbox_first(session, start.sandbox_id)
        profile = await callable_profile(session, start.user_id, start.llm_profile)
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
        return StepOutcome()
    return StepOutcome(detail=f"Joined a sandbox with {others} other conversation{'s' * (others != 1)}")


async def _origin(session: AsyncSession, start: Start) -> Origin:
    """Returns the image and plugins of the new sandbox. Raises StartFailure if the image was deleted."""
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


async def wait_for_sandbox(start: Start) -> StepOutcome:
    await start.sandbox()
    return StepOutcome(output=start.progress.output)


async def prepare_repository(start: Start) -> StepOutcome:
    sandbox = await start.sandbox()
    if start.repository_url is None:
        directory, detail = start.root(sandbox), "Started an empty repository"
        await repository.start_empty(sandbox.client, directory, await _identity(start))
    else:
        address = parse_address(start.repository_url, start.request.git_provider)
        directory, detail = f"{start.root(sandbox)}/{address.name}", f"Cloned {address.public_url}"
        if not (start.has_worked and await repository.has_checkout(sandbox.client, directory)):
            branch = start.request.selected_branch
            await _bring_in(start, address, branch, sandbox.client, directory)
        if (folder := start.request.selected_directory) and not start.has_worked:
            await repository.require_folder(sandbox.client, directory, folder)
            detail = f"{detail}, the agent works in {folder}"
    if more := await _bring_in_more(start, sandbox):
        detail = f"{detail} and {', '.join(more)}"
    if not start.has_worked:
        detail = ". ".join((detail, *words_about(await _fetch_submodules(start, sandbox, directory))))
    await _set_git(start, sandbox.client)
    if start.request.snapshot_id:
        detail = "Took over the files of a snapshot"
    await _save_workplace(start, directory, await repository.head_commit(sandbox.client, directory))
    await _remember_consent(start)
    return StepOutcome(detail=detail)


async def set_up_skills(start: Start) -> StepOutcome:
    address = _address(start.request)
    if address is None:
        return StepOutcome("skipped", "There are no notes of earlier conversations without a repository")
    client, directory = await start.workplace()
    async with start.database.read() as session:
        notes = await memory.notes_of(session, start.user_id, address.identity)
    await put_notes(client, directory, notes, start.request.selected_directory)
    return StepOutcome(detail=f"Notes of earlier conversations: {len(notes)}")


async def start_conversation(start: Start) -> StepOutcome:
    running = await start.sandbox()
    client = running.client
    async with start.database.read() as session:
        await put_team_of_sandbox_first(session, start.sandbox_id)
        row = await session.get_one(Conversation, start.id)
        has_begun, new_title = row.last_seq > 0, row.unsent_title
        more = KeptRepository.all_of(row.more_repositories)
        has_own_tools = start.has_own_tools(start.config, await providers_with_token(session, row))
        sandbox = await session.get_one(Sandbox, start.sandbox_id)
        profile = await callable_profile(session, start.user_id, start.llm_profile)
        fallbacks = await fallbacks_of(session, start.user_id, profile)
        secrets = await secrets_for(session, start.user_id)
        identity = repository_identity(start.request.selected_repository, start.request.git_provider)
        approved = await approvals_of(session, start.user_id, identity)
        mcp_servers = await definitions_for_sandboxes(session, start.cipher, start.user_id)
        mode = await mode_of_task(session, start.user_id, start.request.confirmation_mode)
        steps = await value_for(session, start.user_id, SettingName.MAX_ITERATIONS)
        files = await skill_files(session, start.config, start.user_id)
        disabled = disabled_in(await choices_of(session, start.user_id), identity)
    await remember_plugins(start.database, sandbox, await client.runtime_plugins())
    loadable = [loadable_of(each) for each in await start.executables()]
    first, *further = loadable
    # A recording has no turn for a title: it is the first words there too.
    title = new_title or start.request.title or (row.title if is_recorded(profile.model) else None)
    suffix = "\n\n".join(
        part
        for part in (
            start.request.system_message_suffix,
            more_repositories.words_for_agent(more),
            work_directory.words_for_agent(start.request.selected_directory),
            clone_mode.words_for_agent(_mode(start)),
        )
        if part
    )
    request = start.request.model_copy(update={"title": title, "system_message_suffix": suffix or None})
    market = Loaded() if has_begun else await marketplaces.load_defaults(start)
    request, left_out = marketplaces.with_plugins(request, market.plugins)
    conversation = await client.create_conversation(
        agent_request.build(
            # The log has the first message, even if the sandbox has lost it.
            request.model_copy(update={"initial_message": None}) if has_begun else request,
            conversation_id=start.id,
            sandbox_id=start.sandbox_id,
            profile=profile,
            fallbacks=fallbacks,
            inner_url=running.inner_url,
            model_proof=proof_of(start.cipher, start.id),
            silence_seconds=start.config.llm_timeout_seconds,
            working_dir=first.checkout.directory,
            further_projects=[one.checkout.directory for one in further],
            skill_files=(*files, *market.skills),
            disabled_skills=sorted(disabled),
            mode=mode or default_mode(is_isolated=start.sandboxes.describe().is_isolated),
            secrets={secret.name: secret.description for secret in secrets},
            consent=first.allowed,
            further_consent={one.checkout.directory: one.allowed for one in further},
            usable_tools=tools_offered(sandbox, await client.usable_tools()),
            mcp_approved=approved,
            mcp_servers=mcp_servers,
            has_own_tools=has_own_tools,
            max_iterations=DEFAULT_MAX_ITERATIONS if steps is None else steps.value,
        )
    )
    await marketplaces.keep_plugins(start, request)
    if has_begun:
        # The git settings may have changed while the sandbox slept.
        await _set_git(start, client)
        await reconcile_log(start.database, client, start.id, await reason_of(start.database, start.id))
    # If the step is repeated, the goal may exist already.
    elif start.request.goal and "goal" not in conversation.agent_state:
        goal = StartGoalRequest(
            objective=start.request.objective, max_iterations=start.request.goal.max_iterations
        )
        await client.start_goal(start.id, goal)
    if new_title is not None:
        await send_title(start.database, client, start.id, new_title)
    unused_notices = await left_out_of(client, start.id, loadable)
    return StepOutcome(detail=" ".join((*unused_notices, *market.problems, *left_out)) or None)


STEPS: tuple[tuple[StartStatus, Step], ...] = (
    (StartStatus.WORKING, create_sandbox),
    (StartStatus.WAITING_FOR_SANDBOX, wait_for_sandbox),
    (StartStatus.PREPARING_REPOSITORY, prepare_repository),
    (StartStatus.RUNNING_SETUP_SCRIPT, run_setup_script),
    (StartStatus.SETTING_UP_GIT_HOOKS, set_up_git_hooks),
    (StartStatus.SETTING_UP_SKILLS, set_up_skills),
    (StartStatus.STARTING_CONVERSATION, start_conversation),
)


def _mode(start: Start) -> CloneMode:
    address = _address(start.request)
    return CloneMode.FULL if address is None else mode_for(start.request.clone, address)


def _address(request: StartRequest) -> Address | None:
    if request.selected_repository is None:
        return None
    return parse_address(request.selected_repository, request.git_provider)


async def _bring_in_more(start: Start, sandbox: RunningSandbox) -> list[str]:
    """Checks out all repositories but the first one, each in a separate directory. Returns their URLs."""
    async with start.database.read() as session:
        conversation = await session.get_one(Conversation, start.id)
    more_repos = KeptRepository.all_of(conversation.more_repositories)
    for one in more_repos:
        directory = f"{start.root(sandbox)}/{one.directory}"
        if not (start.has_worked and await repository.has_checkout(sandbox.client, directory)):
            await _bring_in(start, one.address, one.branch, sandbox.client, directory)
        one.base_commit = one.base_commit or await repository.head_commit(sandbox.client, directory)
    if more_repos:
        async with start.database.session() as session:
            changed = update(Conversation).where(Conversation.id == start.id)
            await session.execute(changed.values(more_repositories=[one.model_dump() for one in more_repos]))
    return [one.address.public_url for one in more_repos]


async def _fetch_submodules(start: Start, sandbox: RunningSandbox, directory: str) -> list[KeptSubmodule]:
    """Fetches the git submodules of all repositories, unless the start request switches them off. Returns
    them; if one was not fetched, its field `reason` says why. `directory`: the first repository's directory.
    """
    address = _address(start.request)
    if address is None or start.request.submodules is False:
        return []
    async with start.database.read() as session:
        conversation = await session.get_one(Conversation, start.id)
    more = KeptRepository.all_of(conversation.more_repositories)
    addresses = {directory: address} | {f"{start.root(sandbox)}/{one.directory}": one.address for one in more}
    found = [
        one
        for path, named in addresses.items()
        for one in submodules_in(await repository.submodule_settings(sandbox.client, path), named, path)
    ]
    if not found:
        return []
    async with start.database.read() as session:
        await refuse_submodules_of_other_teams(session, conversation, found)
    # Git reaches what the conversation's row names. Afterwards it names what was fetched.
    await _save_submodules(start, found)
    await _set_git(start, sandbox.client)
    for one in found:
        if one.reason is None:
            start.progress.say(f"Fetching the submodule {one.path}")
            mode, seconds = start.request.clone or DEFAULT_MODE, start.config.clone_timeout_seconds
            one.reason = await repository.fetch_submodule(
                sandbox.client, one.directory, one.path, mode, seconds
            )
    await _save_submodules(start, found)
    return found


async def _save_submodules(start: Start, found: Sequence[KeptSubmodule]) -> None:
    async with start.database.session() as session:
        changed = update(Conversation).where(Conversation.id == start.id)
        await session.execute(changed.values(submodules=[one.model_dump() for one in found]))


async def _bring_in(
    start: Start, address: Address, branch: str | None, client: AgentClient, directory: str
) -> None:
    refuse_foreign_path(address, start.config.home, administers=start.administers)
    await asyncio.to_thread(check_exists, address)
    if (mode := mode_for(start.request.clone, address)) is not CloneMode.FULL:
        start.progress.say(f"Cloning {address.public_url} ({mode})")
        await way_to(str(address.web_url), guard_for(start.config, administers=start.administers))
        # The sandbox fetches what it needs, now and later, through the git proxy.
        await _set_git(start, client)
        await repository.clone_part(
            client,
            address,
            branch,
            mode,
            directory,
            await _identity(start),
            start.config.clone_timeout_seconds,
        )
        return
    scratch = await asyncio.to_thread(_emptied, start.config.home / "clones" / start.id.hex)
    try:
        credentials = await start.git_tokens.credentials(start.user_id, address)
    except AppError as error:
        fix = error.fix or "Try again later."
        raise StartFailure("repository_clone_failed", error.detail, fix=fix) from error
    try:
        start.progress.say(f"Cloning {address.public_url}")
        packed = await pack(
            address,
            branch,
            directory=scratch,
            timeout_seconds=start.config.clone_timeout_seconds,
            report=start.progress.say,
            credentials=credentials,
            guard=guard_for(start.config, administers=start.administers),
            require_moved=partial(require_member_of_moved, start.database, start.user_id),
        )
        start.progress.say("Moving the repository into the sandbox")
        await repository.check_out(client, packed, address, directory, await _identity(start))
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


async def _identity(start: Start) -> repository.CommitIdentity:
    async with start.database.read() as session:
        own = await session.get(UserSettings, start.user_id)
    return (
        repository.CommitIdentity(own.git_user_name, own.git_user_email)
        if own
        else repository.CommitIdentity()
    )


def _emptied(directory: Path) -> Path:
    """Empties the directory and returns it. A killed server may have left parts of fetched files there."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, mode=0o700)
    return directory


async def _set_git(start: Start, client: AgentClient) -> None:
    async with start.database.read() as session:
        sandbox = await session.get_one(Sandbox, start.sandbox_id)
        wanted = await git_settings_of(session, start.cipher, sandbox)
    await client.set_git_remotes(wanted)


async def _save_workplace(start: Start, directory: str, base_commit: str | None) -> None:
    async with start.database.session() as session:
        conversation = await session.get_one(Conversation, start.id)
        conversation.working_dir = directory
        # The work of a fork began where the original's did.
        if conversation.forked_from_conversation_id is None:
            conversation.base_commit = base_commit


async def _remember_consent(start: Start) -> None:
    """Stores that the user allows the project executables (hooks, MCP servers …) whose hashes the request
    names. Executables with a `problem` are left out. Stores nothing if an agent may already have worked on
    the files (`start.has_worked`), because the agent may have changed the executables.
    """
    if not start.request.consent or start.has_worked:
        return
    for one in await start.executables():
        meant = [each for each in one.executables if each.hash in start.request.consent]
        allowed = [each for each in meant if each.problem is None]
        identity = one.checkout.identity
        async with start.database.session() as session:
            await consents.decide(session, start.user_id, identity, allowed, Decision.ALLOWED)
            trail = AuditTrail(Actor(ActorMeans.SERVER, user_id=start.user_id))
            record_decisions(session, trail, identity, allowed, is_allowed=True)
