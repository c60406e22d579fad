"""Finds the sandbox specs (base image and plugins) from which a user's sandboxes can start: those of the
user, of the user's teams and of the organisation. Also saves specs of the organisation and of teams.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.levels import items
from app_server.levels.items import LevelItem
from app_server.levels.models import LevelItemKind
from app_server.levels.resolution import LevelValue, in_order
from app_server.levels.service import LevelOwner
from app_server.sandbox_records.given_specs import GivenSpec
from app_server.sandbox_records.models import SandboxSpec
from app_server.sandbox_specs.files import PackedSpec, pack_named
from app_server.sandbox_specs.schemas import SaveSandboxSpecOfLevel

KIND = LevelItemKind.SANDBOX_SPEC


@dataclass(frozen=True)
class SpecInEffect:
    """A sandbox spec from which a user's sandboxes can start. It belongs to the user, to a team of the user
    or to the organisation.

    `base`: the name of the base image. `runtime_plugins`: the names of the runtime plugins (programs such as
    VS Code) that sandboxes with this spec offer; None means all plugins of the image. `item`: the stored spec
    of the team or the organisation; None if the spec belongs to the user.
    """

    id: UUID
    name: str
    base: str
    runtime_plugins: Sequence[str] | None
    item: LevelItem | None = None

    @property
    def is_own(self) -> bool:
        return self.item is None


@dataclass(frozen=True)
class Specs:
    """All sandbox specs (base image and plugins of sandboxes) that a user can choose from.

    `by_name`: the specs by their names. `default`: the spec that an administrator has made the default for
    this user. It applies if the user has chosen no spec. Its field `value` is the name of the spec; its other
    fields say which team or organisation has set it. None means that the image in the server's configuration
    is the default.
    """

    by_name: Mapping[str, SpecInEffect]
    default: LevelValue | None

    @property
    def enforced(self) -> SpecInEffect | None:
        """The sandbox spec (base image and plugins) from which all new sandboxes of the user must start,
        because the organisation or a team enforces it. None if the user may choose a spec.
        """
        return self.by_name[self.default.value] if self.default and self.default.enforced else None

    def find(self, spec_id: str) -> SpecInEffect | None:
        return next((spec for spec in self.by_name.values() if _is_id(spec.id, spec_id)), None)


async def specs_for(session: AsyncSession, user_id: UUID, *, with_own: bool = True) -> Specs:
    """Returns all sandbox specs (base image and plugins of sandboxes) that the user can choose from.
    `with_own`: whether the specs that the user has added are included; False if the user has no permission to
    choose these.
    """
    query = select(SandboxSpec).where(SandboxSpec.user_id == user_id)
    own = {
        row.name: SpecInEffect(row.id, row.name, row.base, row.runtime_plugins)
        for row in (await session.scalars(query) if with_own else ())
    }
    by_name = await items.in_effect(session, user_id, KIND, own, _given)
    found = await items.items_for(session, user_id, KIND)
    defaults = in_order(
        replace(item.level_value, value=item.name)
        for of_name in found.values()
        for item in of_name
        if GivenSpec.of(item).is_default
    )
    return Specs(by_name, defaults[0] if defaults else None)


async def save_for_level(
    session: AsyncSession, owner: LevelOwner, name: str, body: SaveSandboxSpecOfLevel, set_by: UUID
) -> LevelItem:
    """Adds a sandbox spec (base image and plugins of sandboxes) to the organisation or a team, or replaces
    the spec with the name `name`. Returns the stored spec. If `body` makes this spec the default, the
    previous default spec of this organisation or team is no longer the default.

    `owner`: the organisation or the team. `set_by`: the id of the administrator who saves the spec.

    Raises BadRequest `image_not_allowed` if `body` names one of Slipway's own images. Raises Conflict
    `too_many_items` if the organisation or team already has the maximum number of specs.
    """
    packed = await pack_named(body.image, body.dockerfile)
    if body.is_default:
        await _end_default(session, owner, name)
    value = _stored(packed, body)
    return await items.save_item(
        session,
        owner,
        KIND,
        name,
        value.model_dump(mode="json"),
        encrypted=None,
        enforced=body.enforced,
        set_by=set_by,
    )


async def _end_default(session: AsyncSession, owner: LevelOwner, name: str) -> None:
    for item in await items.all_items(session, owner.organisation_id, KIND):
        if item.level_value.owner_id == owner.id and item.name != name and GivenSpec.of(item).is_default:
            value = {**item.level_value.value, "is_default": False}
            await items.change_value(session, owner, KIND, item.name, value)


def _stored(packed: PackedSpec, body: SaveSandboxSpecOfLevel) -> GivenSpec:
    return GivenSpec(
        description=body.description,
        base=packed.base,
        dockerfile=packed.dockerfile,
        build=packed.build,
        files=base64.b64encode(packed.tar).decode() if packed.tar is not None else None,
        runtime_plugins=None if body.runtime_plugins is None else sorted(set(body.runtime_plugins)),
        is_default=body.is_default,
    )


def _given(item: LevelItem) -> SpecInEffect:
    spec = GivenSpec.of(item)
    return SpecInEffect(item.id, item.name, spec.base, spec.runtime_plugins, item)


def _is_id(id_: UUID, text: str) -> bool:
    return text in {id_.hex, str(id_)}
