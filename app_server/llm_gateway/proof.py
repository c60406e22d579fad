"""Makes and checks the proof that a model call comes from the conversation that it names. Pure.

One session key opens the gateway for all conversations of a sandbox. The model address of each conversation
contains a proof, so that no conversation can make another one pay.
"""

import hmac
from uuid import UUID

from app_server.core.encryption import Cipher

_PURPOSE = "calls of models"
_CHARACTERS = 32


def proof_of(cipher: Cipher, conversation_id: UUID) -> str:
    return _proof(cipher.signing_keys(_PURPOSE)[0], conversation_id)


def is_proof(cipher: Cipher, conversation_id: UUID, given: str) -> bool:
    """Whether `given` is the proof of this conversation, made with any of our current keys."""
    keys = cipher.signing_keys(_PURPOSE)
    return any(hmac.compare_digest(_proof(key, conversation_id).encode(), given.encode()) for key in keys)


def _proof(key: bytes, conversation_id: UUID) -> str:
    return hmac.new(key, conversation_id.bytes, "sha256").hexdigest()[:_CHARACTERS]
