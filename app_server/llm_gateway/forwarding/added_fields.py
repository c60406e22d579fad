"""The API key, extra headers and extra body fields that this server adds to the model calls of a model
profile (a model with its address, key and options). Sandboxes never receive these values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app_server.core.config import Config
from app_server.core.encryption import Cipher
from app_server.settings.models import LLMProfile

_SHORTEST_SECRET = 6


@dataclass(frozen=True)
class Additions:
    """The API key, headers and body fields that this server adds to a model call.

    `timeout_seconds`: how long the vendor may send nothing before the call fails.
    """

    api_key: str | None
    timeout_seconds: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    def hidden_in(self, content: bytes) -> bytes:
        """Replaces the API key and the values of the extra headers of the model profile by `[key]` in
        `content`, a reply of the vendor. Returns the result.
        """
        secrets = [value for value in self.headers.values() if len(value) >= _SHORTEST_SECRET]
        for secret in filter(None, [self.api_key, *secrets]):
            content = content.replace(secret.encode(), b"[key]")
        return content


def additions_of(profile: LLMProfile, cipher: Cipher, config: Config) -> Additions:
    encrypted = profile.extra_headers_encrypted or {}
    return Additions(
        api_key=cipher.decrypt(profile.api_key_encrypted) if profile.api_key_encrypted else None,
        timeout_seconds=profile.chosen.timeout or config.llm_timeout_seconds,
        headers={name: cipher.decrypt(value) for name, value in encrypted.items()},
        body=profile.chosen.extra_body,
    )
