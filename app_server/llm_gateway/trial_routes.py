"""The HTTP route that tests a model profile (a saved model with its address, key and options) with real
calls, which the user of the profile pays.
"""

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal
from uuid import uuid4

import httpx
import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.types import Message

from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.metering.token_counts import Usage
from agent_runtime.time_limits import time_limit
from app_server.access.authentication import CurrentUser
from app_server.core.database import Database
from app_server.core.errors import BadGateway, BadRequest
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_of
from app_server.llm_gateway import trial
from app_server.llm_gateway.charged_completions import completed
from app_server.llm_gateway.limits.shared_budgets import require_shared_budgets
from app_server.llm_gateway.limits.spending import Payer
from app_server.llm_gateway.load_limits import CallCapacity
from app_server.llm_gateway.vendor_call import with_usage
from app_server.settings.effective_values import effective
from app_server.settings.models import LLMProfile
from app_server.settings.profile_lookup import get_profile
from app_server.settings.schemas import ProfileNameInPath
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/settings/profiles", tags=["Settings"])

PATIENCE_SECONDS = 120.0
MAX_REPLY_BYTES = 4 * 1024**2
_MAX_ERROR_CHARS = 1000
_MOST_REPEATS = 2
_OF_CALLERS = frozenset({401, 402, 403, 429})


class ProfileTrial(BaseModel):
    """The reply about the test of a model profile: which features of the model work.

    `answers`: whether the model replied. `tool_calls`: how the model called the tool of the test: `native`
    (in the field for tool calls), `in_text` (in the text of its reply) or `none`. `native_tool_calling`: the
    profile's setting for tool calls. Only if it is false, agents run tool calls that a model writes into its
    text. `streams`: whether the reply arrived in several pieces. `reasons`: whether the model reasoned before
    its reply. `images`: whether the model recognised the colour in the image; null if no image was sent,
    because the model does not accept images.

    `caching`: whether a repeated call read tokens from the vendor's prompt cache; null if this was not
    tested. `caching_skipped`: why caching was not tested; null if it was tested. `no_answer`: the model did
    not reply. `no_cache`: the model catalogue (the server's list of known models) has prices of the model,
    but none for cached input, and the profile sets none either. `cached_tokens`: the number of tokens that
    were read from the cache.

    `prompt_tokens`, `completion_tokens`: the tokens of all test calls together. `cost`: dollars for all
    calls; null if the model's price is not known. `seconds`: the duration of the test. `refusal`: the
    vendor's error text if it refused a call or the image in it; otherwise null.
    """

    answers: bool
    tool_calls: Literal["native", "in_text", "none"]
    native_tool_calling: bool
    streams: bool
    reasons: bool
    images: bool | None
    caching: bool | None
    caching_skipped: Literal["no_answer", "no_cache"] | None
    cached_tokens: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float
    refusal: str | None


@router.post("/{name}/test")
async def try_profile(user: CurrentUser, name: ProfileNameInPath, request: Request) -> ProfileTrial:
    """Tests by real calls which features of a model profile (a model with its address, API key and options)
    work.

    The first call contains a tool, and an image if the model is known to accept images. If the vendor refuses
    the image, a second call is made without the image. If the model does not call the tool, or if the vendor
    refuses tools, a further call only describes the tool in the prompt. The test then searches the text of
    the reply for a tool call. If the profile's `native_tool_calling` is false, all calls describe the tool in
    this way.

    At the end, a long prompt is sent twice to test whether the vendor caches it. If the second call reads
    nothing from the cache, the prompt is sent a third time.

    400 `llm_profile_recorded` if the profile names a recorded model. 502 if the model cannot be reached, or
    if it sends nothing for as long as the profile's timeout. Also 502 if the reply takes longer than two
    minutes and longer than the profile's timeout.
    """
    database: Database = request.state.database
    # The session is closed before the vendor is called, because a reply may take minutes.
    async with database.read() as session:
        profile = await get_profile(session, user.id, name)
        quota = await quota_of(session, user.id, SettingName.PARALLEL_MODEL_CALLS)
        await require_shared_budgets(session, user.id, profile)
    if profile.is_recording:
        raise BadRequest("A recorded model is not tested: nothing is called.", code="llm_profile_recorded")
    room: CallCapacity = request.state.model_call_capacity
    slot = await room.enter(None, user.id, quota)
    try:
        return await _tried(_Calls(profile, user, request), began=monotonic())
    finally:
        slot.leave()


@dataclass
class _Answer:
    """The model's reply to one test call. `is_stream`: whether the reply was streamed. `refusal`: the
    vendor's error text; None if the vendor did not refuse the call.
    """

    status: int
    is_stream: bool
    refusal: str | None
    heard: trial.Heard

    @property
    def is_refused_by_content(self) -> bool:
        """Whether the vendor refused the call because of something in the request body, such as an image or a
        tool. False if the reason was another one, such as a wrong API key.
        """
        return self.refusal is not None and self.status in range(400, 500) and self.status not in _OF_CALLERS


class _Calls:
    """The sender of the test calls for one model profile (a saved model with its address, key and options).
    It collects the replies, with their token usage and cost.
    """

    def __init__(self, profile: LLMProfile, user: User, request: Request) -> None:
        self.profile = profile
        self._user = user
        self._request = request
        self._answers: list[_Answer] = []

    async def make(self, body: dict[str, Any]) -> _Answer:
        """Makes one test call and returns the reply. The user pays for the call as for any model call. Raises
        BadGateway `llm_vendor_silent` if the model does not reply in time.
        """
        try:
            async with time_limit(max(self.profile.chosen.timeout or 0, PATIENCE_SECONDS)):
                self._answers.append(await self._answered(with_usage(body)))
        except TimeoutError as error:
            raise BadGateway(
                "The model did not answer in time.",
                code="llm_vendor_silent",
                fix="Check the base URL, or set a longer timeout in the profile.",
            ) from error
        return self._answers[-1]

    async def _answered(self, body: dict[str, Any]) -> _Answer:
        size, payer = len(orjson.dumps(body)), Payer(self._user.id)
        response = await completed(
            payer, self.profile, self._user, body, size, self._request, working_dir="."
        )
        status, is_stream, content = await _read(response)
        refusal = _refusal(status, content)
        heard = trial.Heard() if refusal else trial.heard(content)
        return _Answer(status, is_stream, refusal, heard)

    @property
    def usages(self) -> list[Usage]:
        """The token usage of each test call that the model replied to."""
        return [answer.heard.usage for answer in self._answers if answer.refusal is None]

    @property
    def cost(self) -> float | None:
        """The cost of all test calls in dollars. None if the cost of a call is not known."""
        price = effective(self.profile).price
        costs = [
            each.cost if each.cost is not None or price is None else price.of(each) for each in self.usages
        ]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) and (costs or price) else None


async def _tried(calls: _Calls, *, began: float) -> ProfileTrial:
    model = effective(calls.profile)
    with_image, is_native = model.sees_images, model.calls_tools

    async def ask(*, with_image: bool, is_native: bool) -> _Answer:
        return await calls.make(trial.call_of(calls.profile, with_image=with_image, is_native=is_native))

    first = answer = await ask(with_image=with_image, is_native=is_native)
    if with_image and first.is_refused_by_content:
        answer = await ask(with_image=False, is_native=is_native)
    refusal = first.refusal
    calls_no_tool = answer.refusal is None and answer.heard.colour is None
    if is_native and (calls_no_tool or answer.is_refused_by_content):
        refusal = answer.refusal or refusal
        described = await ask(with_image=with_image and first.refusal is None, is_native=False)
        if described.refusal is None and (answer.refusal or described.heard.colour is not None):
            answer, is_native = described, False
    found = answer.heard
    answers = answer.refusal is None and bool(found.text or found.colour is not None)
    skipped = _skipped(calls.profile, answers=answers)
    cached = None if skipped else await _cached(calls, is_native=is_native)
    cached_tokens = cached.heard.usage.cache_read_tokens if cached else 0
    return ProfileTrial(
        answers=answers,
        tool_calls="none" if found.colour is None else "in_text" if found.calls_in_text else "native",
        native_tool_calling=model.calls_tools,
        streams=answer.is_stream and found.pieces > 1,
        reasons=found.reasoning,
        images=(first.refusal is None and found.colour == trial.COLOUR_IN_IMAGE) if with_image else None,
        caching=cached_tokens > 0 if cached else None,
        caching_skipped=skipped,
        cached_tokens=cached_tokens,
        prompt_tokens=sum(usage.prompt_tokens for usage in calls.usages),
        completion_tokens=sum(usage.completion_tokens for usage in calls.usages),
        cost=calls.cost,
        seconds=round(monotonic() - began, 2),
        refusal=refusal or (cached.refusal if cached else None),
    )


def _skipped(profile: LLMProfile, *, answers: bool) -> Literal["no_answer", "no_cache"] | None:
    """Returns the reason why the test of a model profile (a saved model with its options) leaves out prompt
    caching. Returns None if caching is tested. `answers`: whether the model has replied to the test calls so
    far.
    """
    if not answers:
        return "no_answer"
    is_set = profile.chosen.cache_read_cost_per_token is not None
    return "no_cache" if effective(profile).facts.caches is False and not is_set else None


async def _cached(calls: _Calls, *, is_native: bool) -> _Answer:
    """Sends the same long prompt up to three times, and returns the last reply. Stops earlier when a reply
    reports tokens from the vendor's cache, or when the vendor refuses the call. The third call can be
    necessary, because some vendors fill their caches only after a reply.

    `is_native`: whether the calls offer the tool of the test in their field `tools`; if False, the calls have
    no tool.
    """
    body = trial.cached_call_of(calls.profile, f"Test {uuid4()}", is_native=is_native)
    answer = await calls.make(body)
    for _ in range(_MOST_REPEATS):
        if answer.refusal or answer.heard.usage.cache_read_tokens:
            break
        answer = await calls.make(body)
    return answer


async def _read(response: Response) -> tuple[int, bool, bytes]:
    """Reads the whole reply of a test call. Returns the HTTP status of the reply, whether the reply was
    streamed, and its content. Raises BadGateway `llm_reply_too_long` if the reply is too long. Raises
    BadGateway `llm_vendor_silent` if the reply breaks off.
    """
    started = httpx.Response(response.status_code)
    received: list[bytes] = []
    remaining_bytes = MAX_REPLY_BYTES

    async def send(message: Message) -> None:
        nonlocal remaining_bytes, started
        if message["type"] == "http.response.start":
            started = httpx.Response(message["status"], headers=message["headers"])
        piece = message.get("body", b"")
        remaining_bytes -= len(piece)
        if remaining_bytes < 0:
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
    is_stream = started.headers.get("content-type", "").startswith("text/event-stream")
    return started.status_code, is_stream, b"".join(received)


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
