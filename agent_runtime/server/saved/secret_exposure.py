"""Decides in which form clients see saved secrets: masked by default; encrypted or in plain text if the
client asks for this form and is allowed to see it.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Depends, Header, Request

from agent_runtime.conversation.spec import mask
from agent_runtime.llm.config import MASK
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.saved.encrypted_settings import EncryptedSettings, is_token

EXPOSE_HEADER = "X-Expose-Secrets"

Expose = Callable[[Any], Any]
"""A function that returns a copy of settings for a client. Secrets in the copy are masked, encrypted or in
plain text, depending on the client's request.
"""


async def _encrypted_settings(request: Request) -> EncryptedSettings:
    encrypted_settings: EncryptedSettings = request.app.state.encrypted_settings
    return encrypted_settings


Saved = Annotated[EncryptedSettings, Depends(_encrypted_settings)]


def require_session_key(request: Request) -> None:
    """Raises ServerProblem 403 if the agent server is configured without session keys (the keys that clients
    send to prove who they are). Does not check the key in the request.

    A server without session keys must not show secrets. It accepts requests without a key, so a command that
    the agent runs could send such a request and read the secrets.
    """
    if not request.app.state.config.session_keys:
        raise ServerProblem(
            403,
            "secrets_not_exposed",
            "A server without session keys shows no secrets: the agent could ask for them.",
            "Set OH_SESSION_API_KEYS_0.",
        )


async def _exposure(
    request: Request,
    encrypted_settings: Saved,
    wanted: Annotated[Literal["encrypted", "plaintext"] | None, Header(alias=EXPOSE_HEADER)] = None,
) -> Expose:
    if wanted == "encrypted":
        encrypted_settings.encrypt("")  # refused at once without a key
        return lambda value: mask(value, lambda secret: encrypted_settings.encrypt(str(secret)))
    if wanted == "plaintext":
        require_session_key(request)
        return lambda value: value
    return mask


Exposure = Annotated[Expose, Depends(_exposure)]


def decrypted(encrypted_settings: EncryptedSettings, settings: Any) -> Any:
    """Returns a copy of `settings`, which a client has sent, in which the encrypted secrets are decrypted.
    Secrets that are not encrypted stay unchanged.
    """
    return mask(settings, lambda secret: encrypted_settings.decrypt(str(secret)))


def fully_decrypted(encrypted_settings: EncryptedSettings, values: Any) -> Any:
    """Returns a copy of `values` in which the encrypted secrets are decrypted. Raises ServerProblem 422
    `secret_not_decrypted` if a secret in it is encrypted with a key that this server does not have.
    """
    return mask(values, lambda secret: _decrypted_secret(encrypted_settings, secret))


def _decrypted_secret(encrypted_settings: EncryptedSettings, secret: Any) -> Any:
    if not isinstance(secret, str) or not is_token(secret):
        return secret
    text = encrypted_settings.decrypt(secret)
    if text == secret:
        raise ServerProblem(
            422,
            "secret_not_decrypted",
            "A key or secret in the request is encrypted with a key that this server does not have.",
            f"Read the settings again with {EXPOSE_HEADER}: encrypted. If OH_SECRET_KEY was changed, add the "
            "old key as OH_PREVIOUS_SECRET_KEYS_0.",
        )
    return text


def is_masked(value: object) -> bool:
    """Returns whether the value is the mask that clients see in place of a secret."""
    return value == MASK
