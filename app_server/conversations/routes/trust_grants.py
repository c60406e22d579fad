"""Routes for trust grants of a conversation's repositories. A repository can contain executables that Slipway
would run or use: hooks, setup scripts, MCP servers. The user allows or refuses each of them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import get_args
from uuid import UUID

from fastapi import APIRouter, Request

from agent_runtime.wire import Offer, OfferKind, OffersResponse
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.conversations import service
from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.repositories.workplaces import Checkout, Workplace, named
from app_server.conversations.routes.dependencies import OwnedWorkplace
from app_server.conversations.schemas import Success
from app_server.conversations.start import repository_scripts as scripts
from app_server.conversations.start.executables import (
    JOINING,
    AnswerOffers,
    ConversationConsent,
    FurtherConsent,
    RunSetupScript,
    show,
    without_outer,
    word_of,
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


EVERY_KIND: Collection[OfferKind] = get_args(OfferKind)


@dataclass(frozen=True)
class _Offered:
    """A folder of a conversation and the executables in it that need the user's trust grant, such as hooks,
    setup scripts and MCP servers.
    """

    checkout: Checkout
    found: OffersResponse

    @property
    def offers(self) -> Sequence[Offer]:
        return self.found.offers


@router.get("/consent")
async def get_consent(
    user: CurrentUser,
    place: OwnedWorkplace,
    conversation_id: UUID,
    database: ServerDatabase,
    request: Request,
) -> ConversationConsent:
    """Returns the executables of the conversation's repositories, such as hooks, setup scripts and MCP
    servers, in their current version. An executable is not run until the user allows it.
    """
    task = await _task(request, user, conversation_id)
    return await _shown(database, user, await _offered(place, task))


@router.post("/consent")
async def answer_offers(
    user: CurrentUser,
    trail: CurrentTrail,
    place: OwnedWorkplace,
    conversation_id: UUID,
    body: AnswerOffers,
    database: ServerDatabase,
    request: Request,
) -> ConversationConsent:
    """Stores the user's decisions about executables of the repositories. Allowed setup scripts run at once.
    Other allowed executables, such as hooks and MCP servers, are added to the conversation at once. Returns
    all executables with the decisions that now apply.

    409 `offer_changed` if one of the hashes belongs to no current executable, and `setup_script_runs` if a
    setup script is allowed while another one is running; in both cases no decision is stored. 409 `not_ready`
    while the conversation starts. After a failed start, the retry uses the decisions. 400
    `repository_not_in_conversation`.
    """
    task = await _task(request, user, conversation_id)
    if task.status not in {StartStatus.READY, StartStatus.ERROR}:
        raise Conflict(
            "The conversation is still starting.", code="not_ready", fix="Answer when it is ready."
        )
    offered = await _offered(place, task)
    wanted = None if body.repository is None else named(place.projects, body.repository)
    meant = [one for one in offered if wanted is None or one.checkout == wanted]
    allowed = _chosen(meant, body.allow)
    refused = _chosen(meant, body.refuse)
    is_ready = task.status == StartStatus.READY
    runs = [
        _run_of(place, checkout, offer)
        for checkout, offers in allowed
        for offer in offers
        if offer.kind == "setup_script"
    ]
    if is_ready and runs:
        require_none(task)
    async with database.session() as session:
        for checkout, offers in allowed:
            await consents.decide(session, user.id, checkout.identity, offers, Decision.ALLOWED)
            record_decisions(session, trail, checkout.identity, offers, is_allowed=True)
        for checkout, offers in refused:
            await consents.decide(session, user.id, checkout.identity, offers, Decision.REFUSED)
            record_decisions(session, trail, checkout.identity, offers, is_allowed=False)
    if is_ready:
        for checkout, offers in allowed:
            await _carry_out(place, conversation_id, checkout, offers)
        if runs:
            await _begin_setup(request, place, conversation_id, runs)
    return await get_consent(user, place, conversation_id, database, request)


@router.post("/run-setup-script")
async def run_setup_script(
    user: CurrentUser,
    place: OwnedWorkplace,
    conversation_id: UUID,
    body: RunSetupScript,
    database: ServerDatabase,
    request: Request,
) -> Success:
    """Runs this version of a repository's setup script again. The start task's stage for the setup script
    shows the progress.

    409 `offer_changed` if the script has changed, `not_allowed`, `setup_script_runs`. 409 `not_ready` while
    the conversation starts, and after a failed start, because the retry runs the script. 400
    `repository_not_in_conversation`.
    """
    task = await _task(request, user, conversation_id)
    if task.status != StartStatus.READY:
        raise Conflict(
            "The conversation has not started.", code="not_ready", fix="Wait for the start, or retry it."
        )
    wanted = named(place.projects, body.repository)
    offered = [one for one in await _offered(place, task) if one.checkout == wanted]
    [(checkout, [script])] = _chosen(offered, [body.hash], kinds={"setup_script"})
    async with database.read() as session:
        word = await word_of(session, user.id, checkout.identity)
    if not word.allows(script):
        raise Conflict(
            "You have not allowed this set-up script.",
            code="not_allowed",
            fix="Look at what it runs, and allow it.",
        )
    await _begin_setup(request, place, conversation_id, [_run_of(place, checkout, script)])
    return Success()


async def _carry_out(
    place: Workplace, conversation_id: UUID, checkout: Checkout, allowed: Sequence[Offer]
) -> None:
    joining = [offer.hash for offer in allowed if offer.kind in JOINING]
    if joining:
        await place.client.consent(conversation_id, joining, _further_directory(place, checkout))
    for offer in allowed:
        if offer.kind == "git_hook":
            await scripts.install_git_hook(place.client, checkout.directory, offer)


def _run_of(place: Workplace, checkout: Checkout, script: Offer) -> ScriptRun:
    return ScriptRun(checkout.directory, script, checkout.name if len(place.projects) > 1 else None)


async def _begin_setup(
    request: Request, place: Workplace, conversation_id: UUID, runs: Sequence[ScriptRun]
) -> None:
    run = SetupRun(
        conversation_id,
        runs,
        place.client,
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


async def _offered(place: Workplace, task: StartTask) -> list[_Offered]:
    """Returns, for each folder of the conversation, the executables that need the user's trust grant. The
    agent's working folder comes first.
    """
    found = [(checkout, await _found(place, task, checkout)) for checkout in place.projects]
    kept = without_outer([(checkout, reply.offers) for checkout, reply in found])
    return [
        _Offered(checkout, reply.model_copy(update={"offers": offers}))
        for (checkout, reply), (_, offers) in zip(found, kept, strict=True)
    ]


async def _found(place: Workplace, task: StartTask, checkout: Checkout) -> OffersResponse:
    if task.status == StartStatus.READY:
        return await place.client.offers_of(task.id, _further_directory(place, checkout))
    return OffersResponse(offers=await place.client.offers(checkout.directory))


def _further_directory(place: Workplace, checkout: Checkout) -> str | None:
    """Returns the directory of the checkout for requests to the agent server. Returns None if the checkout is
    the agent's working folder, because this folder is the default.
    """
    return None if checkout == place.projects[0] else checkout.directory


async def _shown(database: ServerDatabase, user: User, offered: Sequence[_Offered]) -> ConversationConsent:
    async with database.read() as session:
        items = [show(one.found, await word_of(session, user.id, one.checkout.identity)) for one in offered]
    return ConversationConsent(
        directory=offered[0].checkout.name,
        repository=offered[0].checkout.identity,
        items=items[0],
        further=[
            FurtherConsent(directory=one.checkout.name, repository=one.checkout.identity, items=its)
            for one, its in zip(offered[1:], items[1:], strict=True)
            if its
        ],
    )


def _chosen(
    offered: Sequence[_Offered], hashes: Sequence[str], kinds: Collection[OfferKind] = EVERY_KIND
) -> list[tuple[Checkout, list[Offer]]]:
    """Returns the executables that have these hashes, grouped by the checkout that contains them. `offered`:
    the folders with their executables. Raises Conflict `offer_changed` if one of the hashes belongs to no
    executable.
    """

    def is_chosen(offer: Offer) -> bool:
        return offer.kind in kinds and offer.problem is None and offer.hash in hashes

    chosen = [(one.checkout, list(filter(is_chosen, one.offers))) for one in offered]
    if not {offer.hash for _, offers in chosen for offer in offers} >= set(hashes):
        raise Conflict(
            "The repository does not offer this any more.",
            code="offer_changed",
            fix="Look at what it offers now, and answer again.",
        )
    return [(checkout, offers) for checkout, offers in chosen if offers]
