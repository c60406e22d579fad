"""Routes for what a conversation's repository offers to run, and for the user's decisions."""

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter, Request

from agent_runtime.wire import Offer, OffersResponse
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.conversations import service
from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.routes.dependencies import OwnedWorkplace
from app_server.conversations.schemas import Success
from app_server.conversations.service import Workplace
from app_server.conversations.start import repository_scripts as scripts
from app_server.conversations.start.executables import (
    JOINING,
    AnswerOffers,
    ConversationConsent,
    RunSetupScript,
    identity_of,
    show,
    word_of,
)
from app_server.conversations.start.setup_script import SetupRun
from app_server.conversations.start.trust_record import record_decisions
from app_server.core.database import ServerDatabase
from app_server.core.errors import Conflict
from app_server.trust_grants import service as consents
from app_server.trust_grants.models import Decision
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@router.get("/consent")
async def get_consent(
    user: CurrentUser,
    place: OwnedWorkplace,
    conversation_id: UUID,
    database: ServerDatabase,
    request: Request,
) -> ConversationConsent:
    """Returns everything that the repository would run in its present version. Nothing of it runs until it is
    allowed.
    """
    is_ready, identity = await _standing(request, user, conversation_id)
    found = await _offers(place, conversation_id, is_ready=is_ready)
    async with database.read() as session:
        word = await word_of(session, user.id, identity)
    return show(identity, found.offers, found.consented, word)


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
    """Stores the user's decisions. Offers that are allowed run, or join the conversation, at once.

    409 `offer_changed` if a hash is not offered or no longer offered; nothing is changed then. 409
    `not_ready` while the conversation starts. After a failed start, the retry uses the decisions.
    """
    is_ready, identity = await _standing(request, user, conversation_id, is_answer=True)
    found = await _offers(place, conversation_id, is_ready=is_ready)
    allowed = _chosen(found.offers, body.allow)
    refused = _chosen(found.offers, body.refuse)
    async with database.session() as session:
        await consents.decide(session, user.id, identity, allowed, Decision.ALLOWED)
        await consents.decide(session, user.id, identity, refused, Decision.REFUSED)
        record_decisions(session, trail, identity, allowed, is_allowed=True)
        record_decisions(session, trail, identity, refused, is_allowed=False)
    if is_ready:
        await _carry_out(request, place, conversation_id, allowed)
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
    """Runs this version of the set-up script again. The stage of the start shows its progress.

    409 `offer_changed` if the script has changed, `not_allowed`, `setup_script_runs`, and `not_ready` while
    the conversation starts or after the start has failed: the retry runs the script.
    """
    is_ready, identity = await _standing(request, user, conversation_id)
    if not is_ready:
        raise Conflict(
            "The conversation has not started.", code="not_ready", fix="Wait for the start, or retry it."
        )
    found = await _offers(place, conversation_id, is_ready=is_ready)
    scripts_offered = [offer for offer in found.offers if offer.kind == "setup_script"]
    [script] = _chosen(scripts_offered, [body.hash])
    async with database.read() as session:
        word = await word_of(session, user.id, identity)
    if not word.allows(script):
        raise Conflict(
            "You have not allowed this set-up script.",
            code="not_allowed",
            fix="Look at what it runs, and allow it.",
        )
    await _begin_setup(request, place, conversation_id, script)
    return Success()


async def _carry_out(
    request: Request, place: Workplace, conversation_id: UUID, allowed: Sequence[Offer]
) -> None:
    joining = [offer.hash for offer in allowed if offer.kind in JOINING]
    if joining:
        await place.client.consent(conversation_id, joining)
    for offer in allowed:
        if offer.kind == "git_hook":
            await scripts.install_git_hook(place.client, place.directory, offer)
        elif offer.kind == "setup_script":
            await _begin_setup(request, place, conversation_id, offer)


async def _begin_setup(request: Request, place: Workplace, conversation_id: UUID, script: Offer) -> None:
    run = SetupRun(
        conversation_id,
        script,
        place.client,
        place.directory,
        max(1, int(request.state.config.setup_script_timeout_seconds)),
        request.state.database,
        request.state.start_worker.announce,
    )
    await run.claim()
    request.state.background.start(run.run(), name=f"set-up script of {conversation_id}")


async def _standing(
    request: Request, user: User, conversation_id: UUID, *, is_answer: bool = False
) -> tuple[bool, str]:
    """Returns whether the conversation is READY, and the key under which its consents are stored."""
    async with request.state.database.read() as session:
        await service.require(session, user.id, conversation_id)
        task = await session.get_one(StartTask, conversation_id)
    if is_answer and task.status not in {StartStatus.READY, StartStatus.ERROR}:
        raise Conflict(
            "The conversation is still starting.", code="not_ready", fix="Answer when it is ready."
        )
    # What it began with: its user may have named another repository since.
    began = task.request.get("selected_repository"), task.request.get("git_provider")
    identity = identity_of(conversation_id, *began)
    return task.status == StartStatus.READY, identity


async def _offers(place: Workplace, conversation_id: UUID, *, is_ready: bool) -> OffersResponse:
    if is_ready:
        return await place.client.offers_of(conversation_id)
    return OffersResponse(offers=await place.client.offers(place.directory))


def _chosen(offers: Sequence[Offer], hashes: Sequence[str]) -> list[Offer]:
    known = {offer.hash: offer for offer in offers if offer.problem is None}
    if not known.keys() >= set(hashes):
        raise Conflict(
            "The repository does not offer this any more.",
            code="offer_changed",
            fix="Look at what it offers now, and answer again.",
        )
    return [known[one] for one in dict.fromkeys(hashes)]
