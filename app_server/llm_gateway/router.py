"""The way from a sandbox to a model: the sandbox's user pays, with a key that the sandbox never sees."""

from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from app_server.config import Config
from app_server.database import Database
from app_server.encryption import Cipher
from app_server.errors import BadRequest
from app_server.llm_gateway.pass_through import pass_through
from app_server.llm_gateway.recorded import replay
from app_server.llm_gateway.translate import translate
from app_server.llm_gateway.vendors import PassThrough, Recorded, Translated, vendor_of
from app_server.sandboxes.auth import CurrentSandbox
from app_server.settings.models import LLMProfile
from app_server.settings.profiles import get_profile

router = APIRouter(prefix="/llm", tags=["LLM gateway"])


@router.post("/{profile_name}/v1/chat/completions")
async def complete(profile_name: str, sandbox: CurrentSandbox, request: Request) -> Response:
    database: Database = request.state.database
    # Closed before the vendor is asked: a reply may take minutes.
    async with database.read() as session:
        profile = await get_profile(session, sandbox.user_id, profile_name)
    body = _object_of(await request.body())
    return await _ask(profile, body, request, working_dir=sandbox.working_dir or ".")


async def _ask(profile: LLMProfile, body: dict[str, Any], request: Request, *, working_dir: str) -> Response:
    config: Config = request.state.config
    cipher: Cipher = request.state.cipher
    api_key = cipher.decrypt(profile.api_key_encrypted) if profile.api_key_encrypted else None
    match vendor_of(profile.model, profile.base_url):
        case Recorded(name):
            return replay(name, body, working_dir=working_dir)
        case PassThrough() as vendor:
            return await pass_through(
                request.state.http,
                vendor,
                body,
                api_key=api_key,
                headers=request.headers,
                timeout_seconds=config.llm_timeout_seconds,
            )
        case Translated() as vendor:
            return await translate(vendor, body, api_key=api_key, timeout_seconds=config.llm_timeout_seconds)


def _object_of(content: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}.", code="malformed_json") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.", code="malformed_json")
    return body
