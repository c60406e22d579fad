"""Finds the secrets that a person's agents can use: the person's own secrets, and the secrets of the person's
teams and organisation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, NotFound
from app_server.levels import items
from app_server.levels.items import LevelItem
from app_server.levels.models import LevelItemKind
from app_server.levels.service import LevelOwner
from app_server.secrets.schemas import SaveSecretOfLevel
from app_server.secrets.service import list_secrets


@dataclass(frozen=True)
class SecretInEffect:
    """A secret that a person's agents can use: a secret of the person, of one of the person's teams or of the
    organisation.
    """

    name: str
    description: str | None
    value_encrypted: str = field(repr=False)


async def secrets_for(session: AsyncSession, user_id: UUID) -> Sequence[SecretInEffect]:
    """Returns the secrets that the person's agents can use, sorted by name."""
    own = {
        row.name: SecretInEffect(row.name, row.description, row.value_encrypted)
        for row in await list_secrets(session, user_id)
    }
    return [*(await items.in_effect(session, user_id, LevelItemKind.SECRET, own, _given)).values()]


async def secret_for(session: AsyncSession, user_id: UUID, name: str) -> SecretInEffect:
    """Returns the secret with this name that the person's agents can use. Raises NotFound `secret_not_found`
    if there is none.
    """
    for secret in await secrets_for(session, user_id):
        if secret.name == name:
            return secret
    raise NotFound("There is no secret of this name.", code="secret_not_found")


async def save_for_level(
    session: AsyncSession,
    cipher: Cipher,
    owner: LevelOwner,
    name: str,
    body: SaveSecretOfLevel,
    set_by: UUID,
) -> tuple[LevelItem, bool]:
    """Adds or changes a secret of the organisation or a team (`owner`). Returns the secret, and whether it is
    new.

    Raises BadRequest `secret_value_needed` if the secret is new and `body` has no value. Raises Conflict
    `too_many_items` if the owner has the maximum number of secrets. `set_by`: the user who saves the secret.
    """
    before = await items.find_item(session, owner, LevelItemKind.SECRET, name)
    if body.value is not None:
        value_encrypted = cipher.encrypt(body.value.get_secret_value())
    elif before is not None:
        value_encrypted = before.encrypted_part
    else:
        raise BadRequest("A new secret needs a value.", code="secret_value_needed", fix="Enter its value.")
    value = {"description": body.description}
    item = await items.save_item(
        session,
        owner,
        LevelItemKind.SECRET,
        name,
        value,
        encrypted=value_encrypted,
        enforced=body.enforced,
        set_by=set_by,
    )
    return item, before is None


def _given(item: LevelItem) -> SecretInEffect:
    return SecretInEffect(item.name, item.level_value.value["description"], item.encrypted_part)
