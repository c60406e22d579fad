"""Signed links that open a port of a sandbox to their holders until they expire."""

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
    """One port of one sandbox until `expires_at`, as long as there are the sandbox and the key or
    session that made the link.

    path: where the link leads. keeps_prefix: of a link by path, that its path reaches the program whole.
    to_agent_server: the link leads to the agent server itself, as far as `gateway/agent_server.py` lets it.
    """

    sandbox_id: UUID
    port: int
    path: str
    keeps_prefix: bool
    expires_at: datetime
    made_by: Credential
    to_agent_server: bool = False


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
    return jwt.encode(claims, cipher.signing_keys(_PURPOSE)[0], algorithm=_ALGORITHM)


def read(cipher: Cipher, token: str) -> PreviewGrant:
    """Raises Gone `link_expired`, NotFound `link_unknown`."""
    for key in cipher.signing_keys(_PURPOSE):
        try:
            claims = jwt.decode(token, key, algorithms=[_ALGORITHM], options={"require": ["exp"]})
        except jwt.ExpiredSignatureError:
            raise expired("This link has come to its end.") from None
        except jwt.InvalidTokenError:
            continue
        if "by" not in claims:
            # Of a version whose links did not end with a sign-out.
            raise expired("This link is from an earlier version of Slipway.")
        return PreviewGrant(
            sandbox_id=UUID(claims["sandbox"]),
            port=claims["port"],
            path=claims["path"],
            keeps_prefix=claims["whole"],
            expires_at=datetime.fromtimestamp(claims["exp"], UTC),
            made_by=Credential.parse(claims["by"]),
            to_agent_server=claims.get("agent", False),
        )
    raise NotFound("This link is none of ours.", code="link_unknown", fix=_FIX)


def expired(detail: str) -> Gone:
    return Gone(detail, code="link_expired", fix=_FIX)
