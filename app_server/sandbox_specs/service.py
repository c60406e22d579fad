"""Stores the sandbox specs of users, and decides from which spec a new sandbox starts. A sandbox spec names
the base image and the plugins of sandboxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Conflict, NotFound
from app_server.levels.items import require_not_enforced
from app_server.levels.models import LevelItemKind
from app_server.levels.service import setting_enforced
from app_server.sandbox_records.models import Archive, Sandbox, SandboxSpec, SpecChoice
from app_server.sandbox_specs.files import PackedSpec
from app_server.sandbox_specs.in_effect import SpecInEffect, Specs, specs_for
from app_server.sandbox_specs.permission import SpecPermission, sandbox_specs_not_allowed

MAX_SPECS = 20
DEFAULT = "default"
ALL_REPOSITORIES = ""


@dataclass(frozen=True)
class NewSpec:
    """A sandbox spec (base image and plugins of sandboxes) that is not stored yet. `base`: the name of the
    base image. `packed`: the packed build files; None if the image is given by name.
    """

    name: str
    base: str
    packed: PackedSpec | None = None


async def list_specs(session: AsyncSession, user_id: UUID) -> Sequence[SandboxSpec]:
    """Returns the sandbox specs (base image and plugins of sandboxes) that this user has added, sorted by
    name. Specs of the organisation and of teams are not included.
    """
    query = select(SandboxSpec).where(SandboxSpec.user_id == user_id).order_by(SandboxSpec.name)
    return (await session.scalars(query)).all()


@dataclass(frozen=True)
class Origin:
    """The base image and the runtime plugins with which a new sandbox is created. `base_image`: the name of
    the base image; None means the image in the server's configuration. `runtime_plugins`: the runtime plugins
    (programs such as VS Code) that the sandbox offers; None means all plugins of its image.
    """

    base_image: str | None = None
    runtime_plugins: Sequence[str] | None = None


async def create(
    session: AsyncSession, user_id: UUID, new: NewSpec, runtime_plugins: Sequence[str] | None = None
) -> SandboxSpec:
    """Stores a new sandbox spec (base image and plugins of sandboxes) of the user and returns it.
    `runtime_plugins`: the runtime plugins (programs such as VS Code) that sandboxes with this spec offer;
    None means all plugins of the image.

    Raises Conflict `too_many_sandbox_specs` if the user has the maximum number of specs. Raises Conflict
    `sandbox_spec_name_taken` if the user has a spec with this name. Raises Forbidden `setting_enforced` if
    the organisation or a team has a spec of this name that users cannot override.
    """
    await require_not_enforced(session, user_id, LevelItemKind.SANDBOX_SPEC, new.name)
    count = await session.scalar(select(func.count()).where(SandboxSpec.user_id == user_id))
    if (count or 0) >= MAX_SPECS:
        raise Conflict(
            f"{MAX_SPECS} sandbox images are the limit for one user.",
            code="too_many_sandbox_specs",
            fix="Delete one that is not needed.",
        )
    packed = new.packed
    spec = SandboxSpec(
        user_id=user_id,
        name=new.name,
        base=new.base,
        origin=packed.origin if packed else None,
        dockerfile=packed.dockerfile if packed else None,
        build=packed.build if packed else None,
        files=packed.tar if packed else None,
        ignored=packed.ignored if packed else [],
        runtime_plugins=None if runtime_plugins is None else sorted(set(runtime_plugins)),
    )
    session.add(spec)
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            f"There is a sandbox image called {new.name} already.",
            code="sandbox_spec_name_taken",
            fix="Choose another name, or delete that one.",
        ) from error
    return spec


async def remove(session: AsyncSession, user_id: UUID, spec_id: UUID) -> None:
    """Deletes a sandbox spec (base image and plugins of sandboxes) of the user. Existing sandboxes that
    started from the spec continue to use their image. Raises NotFound if the user has no spec with this id.
    """
    await session.delete(await _get(session, user_id, spec_id.hex))


async def choices(session: AsyncSession, user_id: UUID) -> dict[str, str]:
    """Returns the ids of the sandbox specs (base image and plugins of sandboxes) that the user has chosen, by
    repository. The key ALL_REPOSITORIES (an empty text) has the choice for all repositories without a
    separate choice. Choices of specs that the user can no longer use are left out.
    """
    specs = await specs_for(session, user_id)
    found = await _stored_choices(session, user_id, specs)
    return {repository: spec_id for repository, spec_id in found.items() if spec_id is not None}


async def choose(
    session: AsyncSession, user_id: UUID, repository: str, spec_id: str | None, permission: SpecPermission
) -> None:
    """Stores the user's choice of the sandbox spec (base image and plugins) from which new sandboxes for this
    repository start. `repository`: the empty text (ALL_REPOSITORIES) means all repositories without a
    separate choice. `spec_id`: None deletes the stored choice.

    Raises NotFound `sandbox_spec_not_found` if the user can use no spec with this id. Raises Forbidden
    `sandbox_specs_not_allowed` if `permission` does not allow this choice. Raises Forbidden
    `setting_enforced` if the organisation or a team enforces another spec, so that users cannot choose.
    """
    if spec_id is None:
        await session.execute(
            delete(SpecChoice).where(SpecChoice.user_id == user_id, SpecChoice.repository == repository)
        )
        return
    spec = await chosen(session, user_id, spec_id, None, permission)
    values = {
        "spec_id": spec.id if spec is not None and spec.is_own else None,
        "given_name": spec.name if spec is not None and not spec.is_own else None,
    }
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(SpecChoice).values(user_id=user_id, repository=repository, **values)
    await session.execute(row.on_conflict_do_update(index_elements=["user_id", "repository"], set_=values))


async def chosen(
    session: AsyncSession,
    user_id: UUID,
    spec_id: str | None,
    repository: str | None,
    permission: SpecPermission,
) -> SpecInEffect | None:
    """Returns the sandbox spec (base image and plugins) from which a new sandbox of the user starts. Returns
    None if the sandbox starts from the image in the server's configuration.

    `spec_id`: the spec that the user has chosen for this one sandbox; `default` means the image in the
    server's configuration. If `spec_id` is None, the first of these specs that exists is used: the spec that
    the organisation or a team enforces, the user's stored choice for `repository`, the stored choice for all
    repositories, the default of the organisation or a team.

    Raises NotFound `sandbox_spec_not_found` if the user can use no spec with the id `spec_id`. Raises
    Forbidden `sandbox_specs_not_allowed` if `permission` does not allow this choice. Raises Forbidden
    `setting_enforced` if a spec is enforced and `spec_id` is another spec.
    """
    if permission.why_none:
        if spec_id not in {None, DEFAULT}:
            raise sandbox_specs_not_allowed(permission.why_none)
        return None
    specs = await specs_for(session, user_id, with_own=permission.why_not_own is None)
    if spec_id is None:
        return specs.enforced or await _by_choices(session, user_id, repository, specs)
    if specs.enforced and specs.default and specs.find(spec_id) is not specs.enforced:
        raise setting_enforced("sandbox_spec", specs.default)
    if spec_id == DEFAULT:
        return None
    if spec := specs.find(spec_id):
        return spec
    if permission.why_not_own:
        raise sandbox_specs_not_allowed(permission.why_not_own)
    own = await _get(session, user_id, spec_id)
    await require_not_enforced(session, user_id, LevelItemKind.SANDBOX_SPEC, own.name)
    raise spec_not_found()


async def origin_of(
    session: AsyncSession, user_id: UUID, spec_id: str | None, snapshot_id: UUID | None
) -> Origin:
    """Returns the base image and the runtime plugins (programs such as VS Code) with which a new sandbox is
    created.

    `spec_id`: the id of the sandbox spec. If it is None, the base image and the plugins are those of the
    sandbox from which the snapshot was made; without a snapshot, those of the server's configuration.
    `snapshot_id`: the snapshot from which the workspace of the new sandbox begins; None if there is none.
    Raises NotFound if the user can use no spec with the id `spec_id`.
    """
    if spec_id is None and snapshot_id is not None:
        query = select(Sandbox).join(Archive, Archive.sandbox_id == Sandbox.id)
        query = query.where(Archive.id == snapshot_id, Archive.user_id == user_id)
        before = await session.scalar(query)
        return Origin(before.base_image, before.runtime_plugins) if before else Origin()
    if spec_id is None or spec_id == DEFAULT:
        return Origin()
    spec = (await specs_for(session, user_id)).find(spec_id) or await _get(session, user_id, spec_id)
    return Origin(spec.base, spec.runtime_plugins)


async def require_spec(session: AsyncSession, user_id: UUID, spec_id: str) -> None:
    """Checks that the user can choose the sandbox spec (base image and plugins of sandboxes) with this id.
    Raises NotFound `sandbox_spec_not_found` if the user cannot.
    """
    if spec_id != DEFAULT and (await specs_for(session, user_id)).find(spec_id) is None:
        await _get(session, user_id, spec_id)


async def _by_choices(
    session: AsyncSession, user_id: UUID, repository: str | None, specs: Specs
) -> SpecInEffect | None:
    stored = await _stored_choices(session, user_id, specs)
    spec_id = stored.get(repository or ALL_REPOSITORIES) or stored.get(ALL_REPOSITORIES)
    if spec_id is not None:
        return specs.find(spec_id)
    return specs.by_name[specs.default.value] if specs.default else None


async def _stored_choices(session: AsyncSession, user_id: UUID, specs: Specs) -> dict[str, str | None]:
    """Returns the user's stored choices of sandbox specs (base image and plugins of sandboxes). The key is
    the repository. The value is the id of the chosen spec, or None if the user can no longer use this spec.

    The function looks up the name of the chosen spec in `specs`. If the user has chosen a personal spec, and
    the organisation or a team enforces another spec with this name, the value is the id of the enforced spec.
    """
    query = (
        select(SpecChoice, SandboxSpec.name)
        .outerjoin(SandboxSpec, SandboxSpec.id == SpecChoice.spec_id)
        .where(SpecChoice.user_id == user_id)
        .order_by(SpecChoice.repository)
    )
    found: dict[str, str | None] = {}
    for choice, own_name in await session.execute(query):
        name = choice.given_name or own_name
        if name is None:
            found[choice.repository] = DEFAULT
            continue
        spec = specs.by_name.get(name)
        found[choice.repository] = spec.id.hex if spec else None
    return found


def spec_not_found() -> NotFound:
    return NotFound(
        "No such sandbox image.",
        code="sandbox_spec_not_found",
        fix="List them: GET /api/v1/sandbox-specs/search.",
    )


async def _get(session: AsyncSession, user_id: UUID, spec_id: str) -> SandboxSpec:
    try:
        spec = await session.get(SandboxSpec, UUID(spec_id))
    except ValueError:
        spec = None
    if spec is None or spec.user_id != user_id:
        raise spec_not_found()
    return spec
