"""Asks a model server for the list of its models (`GET /models`)."""

from typing import Annotated, Any

import httpx
import orjson
from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, ConfigDict

from agent_runtime.metering.lenient_numbers import a_count, a_dict
from app_server.access.authentication import CurrentUser
from app_server.core.database import Database
from app_server.core.errors import BadGateway
from app_server.http.bounded_body import IDENTITY, BodyTooLong, read_body
from app_server.llm_gateway.forwarding.vendor_failures import unreachable, wrong_base_url
from app_server.settings.profile_lookup import get_profile
from app_server.settings.schemas import ApiKey, BaseUrl, ProfileName
from app_server.users.models import User
from app_server.users.outgoing import http_of

router = APIRouter(prefix="/api/v1/settings/model-list", tags=["Settings"])

TIMEOUT_SECONDS = 15.0
MAX_BYTES = 8 * 1024**2
MAX_MODELS = 1000
# vLLM, OpenRouter, LM Studio, Mistral; llama.cpp has it one level deeper, in `meta`.
_WINDOWS = ("max_model_len", "context_length", "max_context_length", "context_window", "n_ctx_train")


def _require_base_url(base_url: str | None) -> str:
    if base_url is None:
        raise ValueError("the server's address is missing")
    return base_url


class ListModels(BaseModel):
    """The request body that asks for the models of a model server.

    `profile`: a model profile (a saved model with its address and key) of the user. If no `api_key` is given,
    the stored key of this profile is used, but only if `base_url` is equal to the base URL of the profile.
    """

    model_config = ConfigDict(extra="forbid")

    base_url: Annotated[BaseUrl, AfterValidator(_require_base_url)]
    api_key: ApiKey | None = None
    profile: ProfileName | None = None


class ServerModel(BaseModel):
    """A model in the list of a model server. `context_window`: the longest context in tokens; null if the
    server does not state it.
    """

    id: str
    context_window: int | None


class ServerModels(BaseModel):
    models: list[ServerModel]


@router.post("")
async def list_models(user: CurrentUser, body: ListModels, request: Request) -> ServerModels:
    """Lists the models of a server that supports OpenAI's protocol. 502 if the server cannot be reached or
    does not list its models.
    """
    key = await _key(user, body, request)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    url = f"{body.base_url}/models"
    try:
        content = await _fetched(http_of(request, user), url, headers)
    except httpx.HTTPError as error:
        raise unreachable(error, body.base_url) from error
    return ServerModels(models=_models(content)[:MAX_MODELS])


async def _key(user: User, body: ListModels, request: Request) -> str | None:
    if body.api_key is not None and body.api_key.get_secret_value():
        return body.api_key.get_secret_value()
    if body.profile is None:
        return None
    database: Database = request.state.database
    async with database.read() as session:
        profile = await get_profile(session, user.id, body.profile)
    is_own = profile.user_id == user.id
    if not is_own or profile.base_url != body.base_url or profile.api_key_encrypted is None:
        return None
    key: str = request.state.cipher.decrypt(profile.api_key_encrypted)
    return key


async def _fetched(http: httpx.AsyncClient, url: str, headers: dict[str, str]) -> bytes:
    async with http.stream(
        "GET", url, headers={**IDENTITY, **headers}, timeout=TIMEOUT_SECONDS, follow_redirects=False
    ) as reply:
        if reply.headers.get("content-type", "").startswith("text/html"):
            raise wrong_base_url(url, reply.status_code)
        try:
            received = await read_body(reply, MAX_BYTES, TIMEOUT_SECONDS)
        except BodyTooLong as error:
            raise BadGateway(
                "The server's list of models is too long.", code="model_list_too_long"
            ) from error
    if reply.status_code != httpx.codes.OK:
        raise BadGateway(
            f"The server does not list its models (HTTP {reply.status_code}).",
            code="model_list_refused",
            fix="Check the base URL and the API key, or type the model's name.",
        )
    return received


def _models(content: bytes) -> list[ServerModel]:
    try:
        listed = a_dict(orjson.loads(content)).get("data")
    except orjson.JSONDecodeError:
        listed = None
    if not isinstance(listed, list):
        raise BadGateway(
            "The reply of the server is not a list of models.",
            code="model_list_refused",
            fix="Check the base URL, or type the model's name.",
        )
    named = [each for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)]
    return [ServerModel(id=each["id"][:200], context_window=_window(each)) for each in named]


def _window(model: dict[str, Any]) -> int | None:
    stated = {**a_dict(model.get("meta")), **model}
    return next(filter(None, (a_count(stated.get(name)) for name in _WINDOWS)), None)
