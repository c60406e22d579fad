"""Reads the key of a Google service account. Models at Vertex AI are called with such a key.

The key is the JSON file that Google's console creates: https://cloud.google.com/iam/docs/keys-create-delete.
The file also contains URLs. They are ignored, because a forged file could otherwise make this server send
requests to another server than Google's.
"""

from dataclasses import dataclass

import orjson
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from app_server.core.errors import BadRequest

VERTEX_PREFIX = "vertex_ai/"


@dataclass(frozen=True)
class ServiceAccount:
    """The parts of a Google service account's key that model calls need.

    `project`: the id of the Google Cloud project that pays for the calls. `email`: the e-mail address that
    identifies the account. `private_key`: in PEM format.
    """

    project: str
    email: str
    key_id: str
    private_key: str


def read_key(text: str) -> ServiceAccount:
    """Parses and checks the JSON key of a Google service account. Raises BadRequest `vertex_key_invalid` if
    the text is not such a key.
    """
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _invalid("is not JSON") from error
    if not isinstance(content, dict) or content.get("type") != "service_account":
        raise _invalid("is not of the type service_account")
    names = ("project_id", "client_email", "private_key_id", "private_key")
    values = [content.get(name) for name in names]
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, str) or not value:
            raise _invalid(f"has no {name}")
    account = ServiceAccount(*map(str, values))
    try:
        RSAKey.import_key(account.private_key)
    except (JoseError, ValueError) as error:
        raise _invalid("has a private_key that cannot be read") from error
    return account


def _invalid(what: str) -> BadRequest:
    return BadRequest(
        f"The key {what}. Models at Vertex AI need the key of a service account.",
        code="vertex_key_invalid",
        fix="Create a JSON key for a service account with the role Vertex AI User, and paste the whole file.",
    )
