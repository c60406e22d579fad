"""Sends one model call to the vendor of the profile's model and returns the reply. The profile (LLMProfile)
names the model, its address and its API key.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
from fastapi import Request, Response

from app_server.core.errors import BadGateway, Forbidden
from app_server.http.guarded_client import Guard
from app_server.llm_gateway.forwarding.added_fields import additions_of
from app_server.llm_gateway.forwarding.pass_through import pass_through
from app_server.llm_gateway.forwarding.recorded_model import replay
from app_server.llm_gateway.forwarding.translate import refused, translate
from app_server.llm_gateway.forwarding.vendors import PassThrough, Recorded, Translated, vendor_of
from app_server.llm_gateway.forwarding.vertex import DEFAULT_LOCATION, SignInRefused, sign_in
from app_server.settings.models import LLMProfile
from app_server.settings.service_account import VERTEX_PREFIX
from app_server.users.models import User
from app_server.users.outgoing import guard_of, require_allowed

CHAT, RESPONSES = "/chat/completions", "/responses"


async def ask(
    profile: LLMProfile, user: User, body: dict[str, Any], request: Request, *, working_dir: str
) -> Response:
    """Sends a chat completion to the model of the profile (a saved model with its address and key) and
    returns the reply. If the profile names a recording (stored replies for a demo) in place of a model,
    returns the recording's next reply.

    Raises Forbidden `private_address` if the profile's base URL is a private address and no administrator of
    the installation has set it.
    """
    added = additions_of(profile, request.state.cipher, request.state.config)
    match vendor_of(profile.model, profile.base_url):
        case Recorded(name):
            return replay(name, body, working_dir=working_dir)
        case PassThrough() as vendor:
            return await passed(profile, vendor, user, body, request, path=CHAT)
        case Translated() as vendor:
            key = added.api_key
            if profile.model.startswith(VERTEX_PREFIX):
                try:
                    signed_in = await sign_in(key, request.state.http)
                except SignInRefused as error:
                    return refused(401, "AuthenticationError", str(error))
                key = signed_in.token
                location = profile.chosen.location or DEFAULT_LOCATION
                vendor = replace(vendor, project_and_location=(signed_in.project, location))
            guard = _guard_of(request, user, profile)
            with _address_hidden(profile, user), _inheritance_explained(profile):
                if vendor.base_url:
                    await require_allowed(guard, vendor.base_url)
                return await translate(
                    vendor,
                    body,
                    api_key=key,
                    timeout_seconds=added.timeout_seconds,
                    guard=guard,
                    headers=added.headers,
                )


async def passed(
    profile: LLMProfile,
    vendor: PassThrough,
    user: User,
    body: dict[str, Any],
    request: Request,
    *,
    path: str,
    own_headers: Mapping[str, str] | None = None,
) -> Response:
    """Sends a request body to the vendor without translation, and returns the vendor's reply. `path`: the
    path of the protocol's endpoint below the base URL. `own_headers`: for a call in Anthropic's protocol, the
    additional headers of this protocol; the API key is then sent in the header `x-api-key`. For a call in one
    of OpenAI's protocols, `own_headers` is None; the API key is then sent as a bearer token.

    Raises the errors of the function `pass_through`, for example if the vendor does not reply. Raises
    Forbidden `private_address` if the base URL is a private address and no administrator of the installation
    has set it.
    """
    is_guarded = _guard_of(request, user, profile) is not None
    with _address_hidden(profile, user), _inheritance_explained(profile):
        return await pass_through(
            request.state.guarded_http if is_guarded else request.state.http,
            vendor,
            body,
            added=additions_of(profile, request.state.cipher, request.state.config),
            headers=request.headers,
            path=path,
            own_headers=own_headers,
        )


def _is_shared_with(user: User, profile: LLMProfile) -> bool:
    """Returns whether the model profile (a saved model with its options) is shared with the user and does not
    belong to the user. `profile`: a profile that the user can call. Users can call only their own profiles
    and those that an administrator of their organisation shares with them.
    """
    return profile.user_id != user.id


def _guard_of(request: Request, user: User, profile: LLMProfile) -> Guard | None:
    """Returns the check that the base URL of the model profile (a saved model with its address and key) does
    not lead into a private network. Returns None if the profile has no base URL, or if its base URL may lead
    there.

    It may lead there if the profile belongs to an administrator of the installation, or if an administrator
    shares it with a user of the default organisation. The administrators of this organisation manage the
    installation. It may not if a person who has left has entered it, and the owner has not saved it again.
    """
    guard: Guard = request.state.guard
    if profile.base_url is None:
        return None
    if profile.has_inherited_address:
        return guard
    is_trusted = _is_shared_with(user, profile) and user.is_of_default_organisation
    return None if is_trusted else guard_of(request, user)


@contextmanager
def _inheritance_explained(profile: LLMProfile) -> Iterator[None]:
    """Adds the way out to the error `private_address`, if it is raised in the `with` block because a person
    who has left has entered the base URL of the profile.
    """
    try:
        yield
    except Forbidden as error:
        if error.code != "private_address" or not profile.has_inherited_address:
            raise
        raise Forbidden(
            f"The address of {profile.name!r} is private, and a person who has left has entered it.",
            code=error.code,
            fix="If it is right, an administrator who owns the profile saves it again in the settings.",
        ) from error


@contextmanager
def _address_hidden(profile: LLMProfile, user: User) -> Iterator[None]:
    """Removes the base URL of a shared model profile from the message of a BadGateway error that is raised in
    the `with` block. So users who share the profile (a saved model with its address and key) do not see the
    base URL. An error for the user's own profile is not changed.
    """
    try:
        yield
    except BadGateway as error:
        if profile.base_url is None or not _is_shared_with(user, profile):
            raise
        address = httpx.URL(profile.base_url).netloc.decode()
        detail = error.detail.replace(address, f"the address of {profile.name!r}")
        raise BadGateway(
            detail, code=error.code, fix="Ask the administrator who shares this model."
        ) from error


def with_usage(body: dict[str, Any]) -> dict[str, Any]:
    """Returns the request body, changed so that the vendor reports the token usage of a streamed reply.
    Without the token usage, the cost of the reply cannot be computed. To request the token usage, sets
    `stream_options.include_usage`. Returns the body unchanged if the request does not ask for a stream.
    """
    if not body.get("stream"):
        return body
    options = body.get("stream_options")
    asked = options if isinstance(options, dict) else {}
    return {**body, "stream_options": {**asked, "include_usage": True}}
