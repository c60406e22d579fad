"""Request and reply bodies for secrets. Requests can contain the values of secrets. Replies never contain
them.
"""

import re
from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from app_server.core.success_reply import Done
from app_server.http.strict_body import StrictBody

MIN_VALUE_CHARACTERS = 4
"""The minimum number of characters of a secret's value. Slipway hides the values of secrets in the output of
agents. It does not hide shorter values, because this would hide parts of many other texts.
"""
MAX_VALUE_CHARACTERS = 16_000

_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"
# Under these names a value would change how commands are found or run.
_TAKEN = re.compile(r"PATH|HOME|SHELL|USER|PWD|IFS|ENV|BASH_ENV|PROMPT_COMMAND|PS[0-4]|LD_\w+|__SLIPWAY_\w*")


def _is_free(name: str) -> str:
    if _TAKEN.fullmatch(name.upper()):
        raise ValueError("many programs use this name; choose another one")
    return name


SecretName = Annotated[str, StringConstraints(pattern=_NAME_PATTERN), AfterValidator(_is_free)]
SecretNameInPath = Annotated[str, Path(pattern=_NAME_PATTERN)]
SecretValue = Annotated[SecretStr, Field(min_length=MIN_VALUE_CHARACTERS, max_length=MAX_VALUE_CHARACTERS)]
Description = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000)]


class SaveSecret(StrictBody):
    name: SecretName
    value: SecretValue
    description: Description | None = None


class ChangeSecret(StrictBody):
    """The request body that changes a secret. If `value` is left out, the stored value does not change."""

    name: SecretName
    description: Description | None = None
    value: SecretValue | None = None


class SaveSecretOfLevel(BaseModel):
    """The request body that saves a secret of the organisation or a team. If `value` is left out, the stored
    value does not change. `enforced`: if true, and a person also has a secret with this name, the person's
    agents get this secret and not the person's own one.
    """

    model_config = ConfigDict(extra="forbid")

    value: SecretValue | None = None
    description: Description | None = None
    enforced: bool = False


class SecretInfo(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    description: str | None


class SavedSecret(SecretInfo, Done):
    """The reply after a secret was saved: the secret without its value, and a message that says what was
    done.
    """
