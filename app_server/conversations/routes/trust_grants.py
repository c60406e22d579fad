"""Routes for trust grants of a conversation's repositories. A trust grant is the user's decision that an
executable of a repository may run. Executables are hooks, setup scripts, MCP servers and other programs that
Slipway can run or use. The user allows or refuses each of them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import get_args
from uuid import UUID

from fastapi import APIRouter, Request

from agent_runtime.wire import ExecutableKind, ExecutablesResponse, ProjectExecutable
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.conversations import service
from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.repositories.workplaces import Checkout, Workplace, named
from app_server.conversations.routes.dependencies import OwnedWorkplace
from app_server.conversations.schemas import Success
from app_server.conversations.start import repository_scripts as scripts
from app_server.conversations.start.executables import (
    LOADABLE_KINDS,
    AnswerExecutables,
    ConversationConsent,
    FurtherConsent,
    RunSetupScript,
    decisions_of,
    show,
    without_outer,
)
from app_server.conversations.start.repository_scripts import ScriptRun
from app_server.conversations.start.setup_script import SetupRun, require_none
from app_server.core.database import ServerDatabase
from app_server.core.errors import Conflict
from app_server.trust_grants import service as consents
from app_server.trust_grants.decisions import record_decisions
from app_server.trust_grants.models import Decision
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


EVERY_KIND: Collection[ExecutableKind] = get_args(ExecutableKind)


@dataclass(frozen=True)
class _FoundExecutables:
    """A folder of a conversation and the executables in it, such as hooks, setup scripts and MCP servers. The
    executables run only if the user has allowed them (this decision is called a trust grant).
    """

    checkout: Checkout
    reply: ExecutablesResponse

    @property
    def executables(self) -> Sequence[ProjectExecutable]:
        return self.reply.offers


@router.get("/consent")
async def get_consent(
    user: CurrentUser,
    workplace: OwnedWorkplace,
    conversation_id: UUID,
    database: ServerDatabase,
    request: Request,
) -> ConversationConsent:
    """Returns the executables of the conversation's repositories, such as hooks, setup scripts and MCP
    servers, in their current version. An executable is not run until the user allows it.
    """
    task = await _task(request, user, conversation_id)
    return await _consent_reply(database, user, await _executables_of(workplace, task))


@router.post("/consent")
async def answer_executables(
    user: CurrentUser,
    trail: CurrentTrail,
    workplace: OwnedWorkplace,
    conversation_id: UUID,
    body: AnswerExecutables,
    database: ServerDatabase,
    request: Request,
) -> ConversationConsent:
    """Stores the user's decisions about executables of the repositories. Allowed setup scripts run at once.
    Other allowed executables, such as hooks and MCP servers, are added to the conversation at once. Returns
    all executables with the decisions that now apply.

    If the start of the conversation has failed, the decisions are only stored, and the retry of the start
    uses them.

    In the following cases, no decision is stored. 409 `offer_changed` if one of the hashes belongs to no
    current executable. 409 `setup_script_runs` if a setup script is allowed while another setup script is
    running. 409 `not_ready` while the conversation starts. 400 `repository_not_in_conversation` if the body
    names a repository that the conversation does not have.
    """
    task = await _task(request, user, conversation_id)
    if task.status not in {StartStatus.READY, StartStatus.ERROR}:
        raise Conflict(
            "The conversation is still starting.", code="not_ready", fix="Answer when it is ready."
        )
    found = await _executables_of(workplace, task)
    wanted = None if body.repository is None else named(workplace.projects, body.repository)
    meant = [one for one in found if wanted is None or one.checkout == wanted]
    allowed = _chosen(meant, body.allow)
    refused = _chosen(meant, body.refuse)
    is_ready = task.status == StartStatus.READY
    runs = [
        _run_of(workplace, checkout, executable)
        for checkout, executables in allowed
        for executable in executables
        if executable.kind == "setup_script"
    ]
    if is_ready and runs:
        require_none(task)
    async with database.session() as session:
        for checkout, executables in allowed:
            await consents.decide(session, user.id, checkout.identity, executables, Decision.ALLOWED)
            record_decisions(session, trail, checkout.identity, executables, is_allowed=True)
        for checkout, executables in refused:
            await consents.decide(session, user.id, checkout.identity, executables, Decision.REFUSED)
            record_decisions(session, trail, checkout.identity, executables, is_allowed=False)
    if is_ready:
        for checkout, executables in allowed:
            await _carry_out(workplace, conversation_id, checkout, executables)
        if runs:
            await _begin_setup(request, workplace, conversation_id, runs)
    return await get_consent(user, workplace, conversation_id, database, request)


@router.post("/run-setup-script")
async def run_setup_script(
    user: CurrentUser,
    workplace: OwnedWorkplace,
    conversation_id: UUID,
    body: RunSetupScript,
    database: ServerDatabase,
    request: Request,
) -> Success:
    """Runs this version of a repository's setup script again. The start task (the record of the
    conversation's start) shows the progress in its stage for setup scripts.

    409 `offer_changed` if the script has changed. 409 `not_allowed` if the user has not allowed the script.
    409 `setup_script_runs` if a setup script is already running. 409 `not_ready` while the conversation
    starts, and after a failed start, because the retry of the start runs the script. 400
    `repository_not_in_conversation` if the body names a repository that the conversation does not have.
    """
    task = await _task(request, user, conversation_id)
    if task.status != StartStatus.READY:
        raise Conflict(
            "The conversation has not started.", code="not_ready", fix="Wait for the start, or retry it."
        )
    wanted = named(workplace.projects, body.repository)
    found = [one for one in await _executables_of(workplace, task) if one.checkout == wanted]
    [(checkout, [script])] = _chosen(found, [body.hash], kinds={"setup_script"})
    async with database.read() as session:
        decisions = await decisions_of(session, user.id, checkout.identity)
    if not decisions.allows(script):
        raise Conflict(
            "You have not allowed this set-up script.",
            code="not_allowed",
            fix="Look at what it runs, and allow it.",
        )
    await _begin_setup(request, workplace, conversation_id, [_run_of(workplace, checkout, script)])
    return Success()


async def _carry_out(
    workplace: Workplace, conversation_id: UUID, checkout: Checkout, allowed: Sequence[ProjectExecutable]
) -> None:
    loadable = [executable.hash for executable in allowed if executable.kind in LOADABLE_KINDS]
    if loadable:
        await workplace.client.consent(conversation_id, loadable, _further_directory(workplace, checkout))
    for executable in allowed:
        if executable.kind == "git_hook":
            await scripts.install_git_hook(workplace.client, checkout.directory, executable)


def _run_of(workplace: Workplace, checkout: Checkout, script: ProjectExecutable) -> ScriptRun:
    return ScriptRun(checkout.directory, script, checkout.name if len(workplace.projects) > 1 else None)


async def _begin_setup(
    request: Request, workplace: Workplace, conversation_id: UUID, runs: Sequence[ScriptRun]
) -> None:
    run = SetupRun(
        conversation_id,
        runs,
        workplace.client,
        max(1, int(request.state.config.setup_script_timeout_seconds)),
        request.state.database,
        request.state.start_worker.announce,
    )
    await run.claim()
    request.state.background.start(run.run(), name=f"set-up script of {conversation_id}")


async def _task(request: Request, user: User, conversation_id: UUID) -> StartTask:
    async with request.state.database.read() as session:
        await service.require(session, user.id, conversation_id)
        task: StartTask = await session.get_one(StartTask, conversation_id)
    return task


async def _executables_of(workplace: Workplace, task: StartTask) -> list[_FoundExecutables]:
    """Returns the executables that need the user's trust grant (the decision that they may run), grouped by
    the folder that contains them. The folder in which the agent works comes first.

    `workplace`: the conversation's folders and the API client for its agent server. `task`: the record of the
    conversation's start.
    """
    found = [(checkout, await _executables_in(workplace, task, checkout)) for checkout in workplace.projects]
    filtered = without_outer([(checkout, reply.offers) for checkout, reply in found])
    return [
        _FoundExecutables(checkout, reply.model_copy(update={"offers": executables}))
        for (checkout, reply), (_, executables) in zip(found, filtered, strict=True)
    ]


async def _executables_in(workplace: Workplace, task: StartTask, checkout: Checkout) -> ExecutablesResponse:
    if task.status == StartStatus.READY:
        return await workplace.client.executables_of(task.id, _further_directory(workplace, checkout))
    return ExecutablesResponse(offers=await workplace.client.executables(checkout.directory))


def _further_directory(workplace: Workplace, checkout: Checkout) -> str | None:
    """Returns the directory that a request to the agent server must name for this checkout (a repository in
    the sandbox). Returns None if the checkout is the agent's working folder, because the agent server uses
    this folder if a request names no directory.
    """
    return None if checkout == workplace.projects[0] else checkout.directory


async def _consent_reply(
    database: ServerDatabase, user: User, found: Sequence[_FoundExecutables]
) -> ConversationConsent:
    async with database.read() as session:
        items = [
            show(one.reply, await decisions_of(session, user.id, one.checkout.identity)) for one in found
        ]
    return ConversationConsent(
        directory=found[0].checkout.name,
        repository=found[0].checkout.identity,
        items=items[0],
        further=[
            FurtherConsent(directory=one.checkout.name, repository=one.checkout.identity, items=its)
            for one, its in zip(found[1:], items[1:], strict=True)
            if its
        ],
    )


def _chosen(
    found: Sequence[_FoundExecutables], hashes: Sequence[str], kinds: Collection[ExecutableKind] = EVERY_KIND
) -> list[tuple[Checkout, list[ProjectExecutable]]]:
    """Returns the executables that have these hashes, grouped by the checkout (a repository's directory in
    the sandbox) that contains them. `found`: the folders with their executables. `kinds`: only executables of
    these kinds are returned.

    Raises Conflict `offer_changed` if no valid executable of these kinds has one of the hashes.
    """

    def is_chosen(executable: ProjectExecutable) -> bool:
        return executable.kind in kinds and executable.problem is None and executable.hash in hashes

    chosen = [(one.checkout, list(filter(is_chosen, one.executables))) for one in found]
    if not {executable.hash for _, executables in chosen for executable in executables} >= set(hashes):
        raise Conflict(
            "The repository does not offer this any more.",
            code="offer_changed",
            fix="Look at what it offers now, and answer again.",
        )
    return [(checkout, executables) for checkout, executables in chosen if executables]
