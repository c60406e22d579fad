"""The HTTP route that tests a model profile with real calls, which its user pays."""

import asyncio
from time import monotonic

import httpx
import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.types import Message

from agent_runtime.metering.counts import a_dict
from app_server.access.authentication import CurrentUser
from app_server.core.database import Database
from app_server.core.errors import BadGateway, BadRequest
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_of
from app_server.llm_gateway import trial
from app_server.llm_gateway.ask import ask, with_usage
from app_server.llm_gateway.limits import paid_call
from app_server.llm_gateway.limits.shared_budgets import require_shared_budgets
from app_server.llm_gateway.limits.spending import Payer
from app_server.llm_gateway.room import CallCapacity
from app_server.settings.effective import effective
from app_server.settings.models import LLMProfile
from app_server.settings.profile_lookup import get_profile
from app_server.settings.schemas import ProfileNameInPath
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/settings/profiles", tags=["Settings"])

PATIENCE_SECONDS = 120.0
MAX_REPLY_BYTES = 4 * 1024**2
_MAX_ERROR_CHARS = 1000


class ProfileTrial(BaseModel):
    """The result of a profile's test: which features work.

    `answers`: a reply came. `images`: null if no image was sent because the model takes none. `cost`:
    dollars; null if the model's price is not known. `refusal`: the vendor's error text if it refused the call
    or the image in it.
    """

    answers: bool
    calls_tools: bool
    streams: bool
    reasons: bool
    images: bool | None
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float
    refusal: str | None


@router.post("/{name}/test")
async def try_profile(user: CurrentUser, name: ProfileNameInPath, request: Request) -> ProfileTrial:
    """Tests the profile by one real call with a tool, and with an image if the model is known to take images.
    If the vendor refuses the image, a second call is made without it.

    502 if the model cannot be reached, or does not answer within the profile's timeout (two minutes if none
    is set).
    """
    database: Database = request.state.database
    # The session is closed before the vendor is called, because a reply may take minutes.
    async with database.read() as session:
        profile = await get_profile(session, user.id, name)
        quota = await quota_of(session, user.id, SettingName.PARALLEL_MODEL_CALLS)
        await require_shared_budgets(session, user.id, profile)
    if profile.is_recording:
        raise BadRequest("A recorded model is not tested: nothing is called.", code="llm_profile_recorded")
    began = monotonic()
    room: CallCapacity = request.state.room_for_models
    try:
        async with asyncio.timeout(profile.chosen.timeout or PATIENCE_SECONDS):
            place = await room.enter(None, user.id, quota)
            try:
                return await _tried(profile, user, request, began)
            finally:
                place.leave()
    except TimeoutError as error:
        raise BadGateway(
            "The model did not answer in time.",
            code="llm_vendor_silent",
            fix="Check the base URL, or set a longer timeout in the profile.",
        ) from error


async def _tried(profile: LLMProfile, user: User, request: Request, began: float) -> ProfileTrial:
    price = effective(profile).price
    with_image = effective(profile).sees_images
    status, is_stream, content = await _call(profile, user, request, with_image=with_image)
    refusal = _refusal(status, content)
    if refusal and with_image and 400 <= status < 500 and status not in {401, 402, 403, 429}:
        status, is_stream, content = await _call(profile, user, request, with_image=False)
    was_answered = status < 400
    found = trial.heard(content) if was_answered else trial.Heard()
    cost = found.usage.cost
    return ProfileTrial(
        answers=was_answered and bool(found.text or found.colour is not None),
        calls_tools=found.colour is not None,
        streams=is_stream and found.pieces > 1,
        reasons=found.reasoning,
        images=(refusal is None and found.colour == trial.SHOWN) if with_image else None,
        prompt_tokens=found.usage.prompt_tokens,
        completion_tokens=found.usage.completion_tokens,
        cost=cost if cost is not None or price is None else price.of(found.usage),
        seconds=round(monotonic() - began, 2),
        refusal=refusal,
    )


async def _call(
    profile: LLMProfile, user: User, request: Request, *, with_image: bool
) -> tuple[int, bool, bytes]:
    """Makes one call, paid like any other. Returns its HTTP status, whether the reply was a stream, and the
    whole reply.
    """
    body = with_usage(trial.call_of(profile, with_image=with_image))
    size = len(orjson.dumps(body))
    paid = await paid_call.begin(request.state.spending, Payer(user.id), profile, body, size)
    try:
        response = await ask(profile, user, body, request, working_dir=".")
    except BaseException:
        paid.failed()
        raise
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    metered = paid.metered(response)
    return metered.status_code, is_stream, await _read(metered)


async def _read(response: Response) -> bytes:
    received: list[bytes] = []
    left = MAX_REPLY_BYTES

    async def send(message: Message) -> None:
        nonlocal left
        piece = message.get("body", b"")
        left -= len(piece)
        if left < 0:
            raise BadGateway("The model's reply has no end.", code="llm_reply_too_long")
        received.append(piece)

    async def receive() -> Message:
        # The client never disconnects, because the reply is read in this process.
        await asyncio.Event().wait()
        raise AssertionError("never set")

    try:
        await response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)
    except httpx.HTTPError as error:
        raise BadGateway(
            f"The model's reply broke off ({type(error).__name__}).", code="llm_vendor_silent"
        ) from error
    return b"".join(received)


def _refusal(status: int, content: bytes) -> str | None:
    if status < 400:
        return None
    try:
        error = a_dict(orjson.loads(content)).get("error")
    except orjson.JSONDecodeError:
        error = None
    message = a_dict(error).get("message")
    words = message if isinstance(message, str) else content.decode(errors="replace")
    return f"HTTP {status}: {words[:_MAX_ERROR_CHARS]}"
