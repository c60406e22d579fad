"""What opens a port of a sandbox to whoever holds it: a signed link with an end."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import jwt

from app_server.encryption import Cipher
from app_server.errors import Gone, NotFound

_ALGORITHM = "HS256"
_PURPOSE = "preview links"
_FIX = "Open the port again in Slipway, or ask whoever sent you the link for a new one."


@dataclass(frozen=True)
class Grant:
    """One port of one sandbox until `expires_at`, as long as there is the sandbox.

    path: where the link leads. keeps_prefix: of a link by path, that its path reaches the program whole.
    """

    sandbox_id: UUID
    port: int
    path: str
    keeps_prefix: bool
    expires_at: datetime


def sign(cipher: Cipher, grant: Grant) -> str:
    claims = {
        "sandbox": grant.sandbox_id.hex,
        "port": grant.port,
        "path": grant.path,
        "whole": grant.keeps_prefix,
        "exp": int(grant.expires_at.timestamp()),
    }
    return jwt.encode(claims, cipher.signing_keys(_PURPOSE)[0], algorithm=_ALGORITHM)


def read(cipher: Cipher, token: str) -> Grant:
    """Raises Gone `link_expired`, NotFound `link_unknown`."""
    for key in cipher.signing_keys(_PURPOSE):
        try:
            claims = jwt.decode(token, key, algorithms=[_ALGORITHM], options={"require": ["exp"]})
        except jwt.ExpiredSignatureError:
            raise expired("This link has come to its end.") from None
        except jwt.InvalidTokenError:
            continue
        return Grant(
            sandbox_id=UUID(claims["sandbox"]),
            port=claims["port"],
            path=claims["path"],
            keeps_prefix=claims["whole"],
            expires_at=datetime.fromtimestamp(claims["exp"], UTC),
        )
    raise NotFound("This link is none of ours.", code="link_unknown", fix=_FIX)


def expired(detail: str) -> Gone:
    return Gone(detail, code="link_expired", fix=_FIX)
