"""The sources of secret values: values that a client of the agent server sends, and URLs from which values
are looked up.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from agent_runtime.events.base import JsonObject

TIMEOUT_SECONDS = 10.0
MAX_VALUE_BYTES = 32 * 1024
HEADER = "X-Session-API-Key"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")

CredentialFor = Callable[[str], str | None]
"""The type of a function that returns the credential for a URL. It returns None if no credential may be sent
to this URL.
"""


def no_credential(_url: str) -> str | None:
    return None


class InvalidSecretError(Exception):
    """The error that is raised when a secret in a request is not valid: its name cannot be an environment
    variable, or its source is not valid. The text contains the secret's name, never its value.
    """


class SecretUnavailableError(Exception):
    """The error that is raised when the value of a secret was lost or cannot be looked up. The text is for
    the model.
    """


class _Source(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    description: str | None = Field(default=None, max_length=1000)


class StaticSecret(_Source):
    """A secret whose value a client of the agent server has sent. The value is stored only in memory.
    `value`: None if the value was lost, for example when the agent server restarted.
    """

    value: SecretStr | None = None
    kind: Literal["StaticSecret"] = "StaticSecret"

    def revealed(self) -> JsonObject:
        """Returns all fields of the secret, with the value in clear text."""
        return {**self.keepable(), "value": self.value and self.value.get_secret_value()}

    def keepable(self) -> JsonObject:
        """Returns the fields that may be written to disk without encryption: all fields except the value."""
        return {"kind": self.kind, "description": self.description}


class LookupSecret(_Source):
    """A secret whose value is requested from a URL at each use, so that a changed value applies at once. The
    body of the HTTP reply is the value.
    """

    url: str = Field(max_length=4096)
    headers: dict[str, SecretStr] = {}
    kind: Literal["LookupSecret"] = "LookupSecret"

    def revealed(self) -> JsonObject:
        """Returns all fields of the secret, with the headers in clear text."""
        headers = {name: value.get_secret_value() for name, value in self.headers.items()}
        return {"kind": self.kind, "description": self.description, "url": self.url, "headers": headers}

    def keepable(self) -> JsonObject:
        """Returns the fields that may be written to disk without encryption. The headers are never included,
        because they may contain credentials. The URL is included only if the secret has no headers, and the
        URL contains neither a user name nor a query.

        If a secret is restored from only these fields after a restart, it needs the URL. Without the URL, its
        value is lost.
        """
        is_plain = not self.headers and "@" not in self.url and "?" not in self.url
        url = self.url if is_plain else None
        return {"kind": self.kind if url else "StaticSecret", "description": self.description, "url": url}


Source = StaticSecret | LookupSecret

_SOURCE: TypeAdapter[Source] = TypeAdapter(Annotated[Source, Field(discriminator="kind")])


def read_sources(given: Mapping[str, object]) -> dict[str, Source]:
    """Parses the secrets in a request and returns their sources by name. A plain text becomes a StaticSecret.
    Raises InvalidSecretError if a secret is not valid.
    """
    return {name: _read(name, one) for name, one in given.items()}


def _read(name: str, given: object) -> Source:
    if not _NAME.match(name):
        raise InvalidSecretError(f"{name[:50]!r} cannot be the name of a secret: use letters, digits and _.")
    if isinstance(given, str):
        given = {"kind": "StaticSecret", "value": given}
    try:
        source = _SOURCE.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidSecretError(f"The secret {name} is not valid: {where}: {first['msg']}") from error
    if isinstance(source, StaticSecret) and source.value is not None:
        check_value(name, source.value.get_secret_value())
    return source


def check_value(name: str, value: str) -> None:
    """Checks that an environment variable can hold the value of a secret. Raises InvalidSecretError if the
    value is larger than MAX_VALUE_BYTES or contains a null character.
    """
    if "\0" in value or len(value.encode(errors="replace")) > MAX_VALUE_BYTES:
        raise InvalidSecretError(
            f"The value of {name} is larger than {MAX_VALUE_BYTES} bytes, or holds a null character."
        )


async def value_of(name: str, source: Source, credential_for: CredentialFor) -> str:
    """Returns the current value of a secret, which may need an HTTP request. `credential_for`: returns the
    credential for a URL of the app server. Raises SecretUnavailableError if there is no value.
    """
    if isinstance(source, LookupSecret):
        return await _look_up(name, source, credential_for)
    if source.value is None:
        raise SecretUnavailableError(
            f"The value of the secret {name} was lost in a restart of the agent server. "
            "The user, or their client, has to set it again."
        )
    return source.value.get_secret_value()


async def _look_up(name: str, source: LookupSecret, credential_for: CredentialFor) -> str:
    import httpx  # 2 MB of memory that a server without a conversation does not need

    headers = {key: value.get_secret_value() for key, value in source.headers.items()}
    if not headers and (key := credential_for(source.url)) is not None:
        headers = {HEADER: key}
    try:
        # The proxies of the environment are meant for the agent's commands, not for secrets.
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False) as http:
            reply = await http.get(source.url, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SecretUnavailableError(
            f"The secret {name} could not be looked up: {type(error).__name__}. Try again in a moment."
        ) from error
    if not reply.is_success:
        raise SecretUnavailableError(
            f"The secret {name} could not be looked up: its place answered {reply.status_code}."
        )
    try:
        check_value(name, reply.text)
    except InvalidSecretError as error:
        raise SecretUnavailableError(str(error)) from error
    return reply.text
