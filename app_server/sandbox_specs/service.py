"""A user's sandbox specs, and the choice of the spec that a new sandbox starts from."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Conflict, NotFound
from app_server.sandbox_records.models import Archive, Sandbox, SandboxSpec, SpecChoice
from app_server.sandbox_specs.files import PackedSpec

MAX_SPECS = 20
DEFAULT = "default"
ALL_REPOSITORIES = ""


@dataclass(frozen=True)
class NewSpec:
    """A spec to save. `packed`: the packed build files; None for an image that is given by name."""

    name: str
    base: str
    packed: PackedSpec | None = None


async def list_specs(session: AsyncSession, user_id: UUID) -> Sequence[SandboxSpec]:
    """Returns the user's specs, by name."""
    query = select(SandboxSpec).where(SandboxSpec.user_id == user_id).order_by(SandboxSpec.name)
    return (await session.scalars(query)).all()


@dataclass(frozen=True)
class Origin:
    """The base image and the plugins that a new sandbox is made from. `base_image`: None means the base image
    in the server's configuration.

    `runtime_plugins`: the plugins that the sandbox offers; None means all plugins of its image.
    """

    base_image: str | None = None
    runtime_plugins: Sequence[str] | None = None


async def create(
    session: AsyncSession, user_id: UUID, new: NewSpec, runtime_plugins: Sequence[str] | None = None
) -> SandboxSpec:
    """Saves and returns a spec. `runtime_plugins`: as in Origin.

    Raises Conflict `too_many_sandbox_specs` and `sandbox_spec_name_taken`.
    """
    count = await session.scalar(select(func.count()).where(SandboxSpec.user_id == user_id))
    if (count or 0) >= MAX_SPECS:
        raise Conflict(
            f"{MAX_SPECS} sandbox images are as many as one can have.",
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
    """Deletes a spec. Sandboxes that were made from it keep their image. Raises NotFound."""
    await session.delete(await _get(session, user_id, spec_id.hex))


async def choices(session: AsyncSession, user_id: UUID) -> dict[str, UUID]:
    """Returns the id of the chosen spec for each repository, and for ALL_REPOSITORIES if that is set."""
    query = select(SpecChoice).where(SpecChoice.user_id == user_id).order_by(SpecChoice.repository)
    return {choice.repository: choice.spec_id for choice in await session.scalars(query)}


async def choose(session: AsyncSession, user_id: UUID, repository: str, spec_id: str | None) -> None:
    """Stores which spec new sandboxes for this repository start from. Raises NotFound.

    `spec_id`: None and `default` remove the choice.
    """
    if spec_id is None or spec_id == DEFAULT:
        await session.execute(
            delete(SpecChoice).where(SpecChoice.user_id == user_id, SpecChoice.repository == repository)
        )
        return
    spec = await _get(session, user_id, spec_id)
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(SpecChoice).values(user_id=user_id, repository=repository, spec_id=spec.id)
    changed = {"spec_id": row.excluded.spec_id}
    await session.execute(row.on_conflict_do_update(index_elements=["user_id", "repository"], set_=changed))


async def chosen(
    session: AsyncSession, user_id: UUID, spec_id: str | None, repository: str | None
) -> SandboxSpec | None:
    """Returns the spec that a new sandbox starts from. Returns None for the server's configuration.

    `spec_id`: the spec that the user names for this sandbox; it overrides the stored choices. Raises
    NotFound.
    """
    if spec_id is None:
        known = await choices(session, user_id)
        found = known.get(repository or ALL_REPOSITORIES, known.get(ALL_REPOSITORIES))
        return await session.get(SandboxSpec, found) if found else None
    return None if spec_id == DEFAULT else await _get(session, user_id, spec_id)


async def origin_of(
    session: AsyncSession, user_id: UUID, spec_id: str | None, snapshot_id: UUID | None
) -> Origin:
    """Returns what a new sandbox is made from.

    `spec_id`: None means what the snapshot's sandbox was made from, or without a snapshot the user's choice.
    Raises NotFound.
    """
    if spec_id is None and snapshot_id is not None:
        query = select(Sandbox).join(Archive, Archive.sandbox_id == Sandbox.id)
        query = query.where(Archive.id == snapshot_id, Archive.user_id == user_id)
        before = await session.scalar(query)
        return Origin(before.base_image, before.runtime_plugins) if before else Origin()
    spec = await chosen(session, user_id, spec_id, None)
    return Origin(spec.base, spec.runtime_plugins) if spec else Origin()


async def _get(session: AsyncSession, user_id: UUID, spec_id: str) -> SandboxSpec:
    try:
        spec = await session.get(SandboxSpec, UUID(spec_id))
    except ValueError:
        spec = None
    if spec is None or spec.user_id != user_id:
        raise NotFound(
            "No such sandbox image.",
            code="sandbox_spec_not_found",
            fix="See which there are: GET /api/v1/sandbox-specs/search.",
        )
    return spec
