"""Creates and checks the proof that a model call comes from a certain conversation. The proof is a secret
text. This module does no I/O.

All conversations of a sandbox use the same session key for their model calls. Therefore the URL to which a
conversation sends its model calls also contains a proof. So no conversation can make another conversation
pay.
"""

import hmac
from uuid import UUID

from app_server.core.encryption import Cipher

_PURPOSE = "calls of models"
_CHARACTERS = 32


def proof_of(cipher: Cipher, conversation_id: UUID) -> str:
    return _proof(cipher.signing_keys(_PURPOSE)[0], conversation_id)


def is_proof(cipher: Cipher, conversation_id: UUID, given: str) -> bool:
    """Returns whether `given` is the secret text that proves that a model call comes from this conversation.
    The text may have been made with any of the encryption keys that this server uses now.
    """
    keys = cipher.signing_keys(_PURPOSE)
    return any(hmac.compare_digest(_proof(key, conversation_id).encode(), given.encode()) for key in keys)


def _proof(key: bytes, conversation_id: UUID) -> str:
    return hmac.new(key, conversation_id.bytes, "sha256").hexdigest()[:_CHARACTERS]
