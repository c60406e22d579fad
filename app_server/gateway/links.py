"""Signs and reads the tokens in links to ports of sandboxes. A link gives access to one port to all people
who have the link, until it expires.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import jwt

from app_server.access.credentials_in_use import Credential
from app_server.core.encryption import Cipher
from app_server.core.errors import Gone, NotFound

_ALGORITHM = "HS256"
_PURPOSE = "preview links"
_FIX = "Open the port again in Slipway, or ask the sender of the link for a new one."


@dataclass(frozen=True)
class PreviewGrant:
    """The access that a link or a key gives: one port of one sandbox until `expires_at`. It ends before
    `expires_at` if the sandbox is deleted, or if the API key or browser session that made it (`made_by`)
    ends.

    `path`: the path that the link opens on the port. `keeps_prefix`: only for a link below a path. True if
    the program receives the whole path of each request; false if the gateway removes the link's prefix from
    it. `to_agent_server`: whether the access is to the agent server itself, as far as
    `gateway/agent_server.py` allows. `conversation_id`: the only conversation to which access is given; the
    access ends when that conversation is deleted. `is_key`: true if a key in a header
    (`gateway/agent_keys.py`) gives this access; false if a link gives it.
    """

    sandbox_id: UUID
    port: int
    path: str
    keeps_prefix: bool
    expires_at: datetime
    made_by: Credential
    to_agent_server: bool = False
    conversation_id: UUID | None = None
    is_key: bool = False


def sign(cipher: Cipher, grant: PreviewGrant) -> str:
    claims = {
        "sandbox": grant.sandbox_id.hex,
        "port": grant.port,
        "path": grant.path,
        "whole": grant.keeps_prefix,
        "by": str(grant.made_by),
        "exp": int(grant.expires_at.timestamp()),
    }
    if grant.to_agent_server:
        claims["agent"] = True
    if grant.conversation_id:
        claims["conversation"] = grant.conversation_id.hex
    return jwt.encode(claims, cipher.signing_keys(_PURPOSE)[0], algorithm=_ALGORITHM)


def read(cipher: Cipher, token: str) -> PreviewGrant:
    """Checks the signature and the expiry time of a link's token. Returns the access that the link gives.
    Raises Gone `link_expired` if the link has expired. Raises NotFound `link_unknown` if the token is not
    valid.
    """
    for key in cipher.signing_keys(_PURPOSE):
        try:
            claims = jwt.decode(token, key, algorithms=[_ALGORITHM], options={"require": ["exp"]})
        except jwt.ExpiredSignatureError:
            raise expired("This link has expired.") from None
        except jwt.InvalidTokenError:
            continue
        if "by" not in claims:
            # A link of an earlier version, whose links did not end when their maker signed out.
            raise expired("This link is from an earlier version of Slipway.")
        return PreviewGrant(
            sandbox_id=UUID(claims["sandbox"]),
            port=claims["port"],
            path=claims["path"],
            keeps_prefix=claims["whole"],
            expires_at=datetime.fromtimestamp(claims["exp"], UTC),
            made_by=Credential.parse(claims["by"]),
            to_agent_server=claims.get("agent", False),
            conversation_id=UUID(claims["conversation"]) if "conversation" in claims else None,
        )
    raise NotFound("This is not a link of this server.", code="link_unknown", fix=_FIX)


def expired(detail: str) -> Gone:
    return Gone(detail, code="link_expired", fix=_FIX)
