"""One call of a profile's model, wherever that is."""

from typing import Any

from fastapi import Request, Response

from app_server.llm_gateway.additions import additions_of
from app_server.llm_gateway.pass_through import pass_through
from app_server.llm_gateway.recorded import replay
from app_server.llm_gateway.translate import translate
from app_server.llm_gateway.vendors import PassThrough, Recorded, Translated, vendor_of
from app_server.settings.models import LLMProfile
from app_server.users.models import User
from app_server.users.outgoing import guard_of, http_of, require_callable


async def ask(
    profile: LLMProfile, user: User, body: dict[str, Any], request: Request, *, working_dir: str
) -> Response:
    """Raises Forbidden `private_address` where a member has named a server beside this one."""
    added = additions_of(profile, request.state.cipher, request.state.config)
    match vendor_of(profile.model, profile.base_url):
        case Recorded(name):
            return replay(name, body, working_dir=working_dir)
        case PassThrough() as vendor:
            return await pass_through(
                http_of(request, user) if profile.base_url else request.state.http,
                vendor,
                body,
                added=added,
                headers=request.headers,
            )
        case Translated() as vendor:
            if vendor.base_url:
                await require_callable(request, user, vendor.base_url)
            return await translate(
                vendor,
                body,
                api_key=added.api_key,
                timeout_seconds=added.timeout_seconds,
                guard=guard_of(request, user) if vendor.base_url else None,
                headers=added.headers,
            )


def with_usage(body: dict[str, Any]) -> dict[str, Any]:
    """The request, asking that a stream states what was used: without it the cost is unknown."""
    if not body.get("stream"):
        return body
    options = body.get("stream_options")
    asked = options if isinstance(options, dict) else {}
    return {**body, "stream_options": {**asked, "include_usage": True}}
