"""Signs in at Google for calls of Vertex AI: the key of a service account is exchanged for a token that is
valid for an hour (RFC 7523). The key and the token stay in this server.
"""

import hashlib
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
from authlib.oauth2.rfc7523 import JWTBearerGrant

from agent_runtime.metering.lenient_numbers import a_dict
from app_server.core.errors import BadGateway
from app_server.llm_gateway.forwarding.vendor_failures import unreachable
from app_server.settings.service_account import ServiceAccount, read_key

logger = logging.getLogger(__name__)

TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 (an address)
DEFAULT_LOCATION = "global"

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_MOST_TOKENS = 500
_RENEWED_SECONDS_BEFORE_END = 300
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class SignIn:
    """The result of a sign-in with the key of a Google service account, for one call of Vertex AI. `token`:
    the access token for the header `Authorization`. `project`: the Google Cloud project.
    """

    token: str
    project: str


class SignInRefused(Exception):
    """The error that is raised if Google does not accept the service account's key, or if the model profile
    (the saved model) has no key. The error's text gives the reason.
    """


_tokens: OrderedDict[str, tuple[str, float]] = OrderedDict()


async def sign_in(key: str | None, http: httpx.AsyncClient) -> SignIn:
    """Signs in to Google with the key of a service account. Returns the access token and the Google Cloud
    project. Requests a new token only if the last token of this key has ended or ends soon.

    Raises SignInRefused if there is no key or Google does not accept it. Raises BadGateway
    `llm_vendor_unreachable` if Google cannot be reached. Raises BadRequest `vertex_key_invalid` if the key
    cannot be read.
    """
    if not key:
        raise SignInRefused("This model at Vertex AI has no key. Save the key of a service account with it.")
    account = read_key(key)
    name = hashlib.sha256(key.encode()).hexdigest()
    token, end = _tokens.get(name, ("", 0.0))
    if end - time.time() < _RENEWED_SECONDS_BEFORE_END:
        token, seconds = await _new_token(account, http)
        _tokens[name] = (token, time.time() + seconds)
        while len(_tokens) > _MOST_TOKENS:
            _tokens.popitem(last=False)
    return SignIn(token, account.project)


async def _new_token(account: ServiceAccount, http: httpx.AsyncClient) -> tuple[str, float]:
    """Requests a new access token from Google for the service account. Returns the token and its lifetime in
    seconds.
    """
    assertion = JWTBearerGrant.sign(
        account.private_key,
        issuer=account.email,
        audience=TOKEN_URL,
        claims={"scope": _SCOPE},
        header={"alg": "RS256", "kid": account.key_id},
    )
    form = {"grant_type": JWTBearerGrant.GRANT_TYPE, "assertion": assertion}
    try:
        reply = await http.post(TOKEN_URL, data=form, timeout=_TIMEOUT_SECONDS)
    except httpx.HTTPError as error:
        raise unreachable(error, TOKEN_URL) from error
    stated = _decoded(reply.content)
    if reply.is_server_error:
        raise BadGateway(
            f"Google's sign-in answers with HTTP {reply.status_code}.", code="llm_vendor_unreachable"
        )
    token, seconds = stated.get("access_token"), stated.get("expires_in")
    if not reply.is_success or not isinstance(token, str) or not isinstance(seconds, int | float):
        words = stated.get("error_description") or stated.get("error") or f"HTTP {reply.status_code}"
        logger.warning("google refused a service account", extra={"status": reply.status_code})
        raise SignInRefused(f"Google does not accept the service account's key: {str(words)[:300]}")
    return token, float(seconds)


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        return a_dict(orjson.loads(content))
    except orjson.JSONDecodeError:
        return {}
