"""Routes for sandbox specs: what sandboxes can start from, and what the user's new sandboxes start from."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import CurrentUser
from app_server.core.config import Config
from app_server.core.database import ReadSession, ServerDatabase, Session, now
from app_server.core.errors import BadRequest, Conflict, Forbidden, StartFailure
from app_server.core.pagination import Limit, PageId, page_of
from app_server.git.address import check_exists, parse_address
from app_server.git.local_repositories import refuse_foreign_path
from app_server.git.pinned_git import guard_for
from app_server.sandbox_images.definition import BASE_REPOSITORY, REPOSITORY
from app_server.sandbox_records.models import SandboxSpec
from app_server.sandbox_specs import service
from app_server.sandbox_specs.files import PackedSpec, pack_repository, pack_text
from app_server.sandbox_specs.permission import sandbox_specs_not_allowed, why_not
from app_server.sandbox_specs.schemas import (
    ChooseSandboxSpec,
    CreateSandboxSpec,
    FromRepository,
    RepositoryBase,
    RepositorySpec,
    SandboxSpecInfo,
    SandboxSpecPage,
    SandboxSpecSettings,
)
from app_server.sandbox_specs.service import ALL_REPOSITORIES, DEFAULT, NewSpec
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/sandbox-specs", tags=["Sandbox specs"])
settings_router = APIRouter(prefix="/api/v1/settings/sandbox-spec", tags=["Sandbox specs"])

_NOT_ALLOWED = {"description": "The user may not choose what sandboxes are built on"}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "What it would be built from cannot be used"},
    403: _NOT_ALLOWED,
}


@router.get("/search")
async def search_sandbox_specs(
    user: CurrentUser, session: ReadSession, request: Request, page_id: PageId = None, limit: Limit = 100
) -> SandboxSpecPage:
    """Lists the server's own spec, called `default`, and the user's specs."""
    items, next_page_id = page_of(await _infos(request, session, user), page_id, limit)
    return SandboxSpecPage(items=items, next_page_id=next_page_id)


@router.get("")
async def get_sandbox_specs(
    user: CurrentUser,
    session: ReadSession,
    request: Request,
    ids: Annotated[list[str], Query(alias="id", min_length=1, max_length=100)],
) -> list[SandboxSpecInfo | None]:
    """Returns the specs with these ids, in the given order; null for an id that does not exist."""
    found = {info.id: info for info in await _infos(request, session, user)}
    return [found.get(spec_id) for spec_id in ids]


@router.post("", status_code=201, responses=_REFUSALS)
async def create_sandbox_spec(
    user: CurrentUser, body: CreateSandboxSpec, database: ServerDatabase, request: Request
) -> SandboxSpecInfo:
    """Saves and returns a spec made from an image, a Dockerfile, or a repository. The first start that needs
    it builds the image.

    Status 409 `repository_base_changed`: the files in the repository no longer match `base`.
    """
    _require_permission(request, user)
    new = await _new(request, user, body)
    async with database.session() as session:
        return _info(request, await service.create(session, user.id, new, body.runtime_plugins))


@router.post("/from-repository", responses=_REFUSALS)
async def look_at_repository(user: CurrentUser, body: FromRepository, request: Request) -> RepositoryBase:
    """Returns what the repository's devcontainer.json or Dockerfile would build. Nothing is built or run."""
    _require_permission(request, user)
    packed = await _pack(request, user, body)
    build = packed.build or {"files": 0, "bytes": 0}
    return RepositoryBase(
        base=packed.base,
        repository=parse_address(body.selected_repository, body.git_provider).identity,
        path=packed.path,
        dockerfile=packed.dockerfile,
        files=build["files"],
        bytes=build["bytes"],
        ignored=packed.ignored or [],
    )


@router.delete("/{spec_id}", status_code=204)
async def delete_sandbox_spec(user: CurrentUser, session: Session, spec_id: UUID) -> None:
    """Deletes a spec. Sandboxes that were made from it keep their image. New sandboxes start from the
    server's own spec.
    """
    await service.remove(session, user.id, spec_id)


@settings_router.get("")
async def get_sandbox_spec_settings(
    user: CurrentUser, session: ReadSession, request: Request
) -> SandboxSpecSettings:
    return await _settings(request, session, user)


@settings_router.put("", responses={403: _NOT_ALLOWED})
async def choose_sandbox_spec(
    user: CurrentUser, session: Session, body: ChooseSandboxSpec, request: Request
) -> SandboxSpecSettings:
    """Chooses the spec for conversations that start from now on. 422 `repository_not_found`."""
    if body.sandbox_spec_id not in {None, DEFAULT}:
        _require_permission(request, user)
    repository = ALL_REPOSITORIES
    if body.repository:
        known = await service.choices(session, user.id)
        given = body.repository
        repository = given if given in known else parse_address(given, body.git_provider).identity
    await service.choose(session, user.id, repository, body.sandbox_spec_id)
    return await _settings(request, session, user)


async def _new(request: Request, user: User, body: CreateSandboxSpec) -> NewSpec:
    if body.image is not None:
        return NewSpec(body.name, _foreign(body.image))
    if body.dockerfile is not None:
        packed = await asyncio.to_thread(pack_text, body.dockerfile)
        return NewSpec(body.name, packed.base, packed)
    assert body.repository is not None
    packed = await _pack(request, user, body.repository)
    if packed.base != body.base:
        raise Conflict(
            "The repository holds something else by now than what was looked at.",
            code="repository_base_changed",
            fix="Look at it again.",
        )
    return NewSpec(body.name, packed.base, packed)


async def _pack(request: Request, user: User, given: FromRepository) -> PackedSpec:
    address = parse_address(given.selected_repository, given.git_provider)
    try:
        refuse_foreign_path(address, user.role, request.state.config.home)
    except StartFailure as failure:
        raise Forbidden(failure.cause, code=failure.code, fix=failure.fix) from failure
    await asyncio.to_thread(check_exists, address)
    credentials = await request.state.git_tokens.credentials(user.id, address)
    guard = guard_for(request.state.config, user.role)
    packed = await pack_repository(address, given.selected_branch, given.path, credentials, guard)
    if packed.build is None:
        _foreign(packed.base)
    return packed


def _foreign(image: str) -> str:
    """Returns the image name. Raises BadRequest for Slipway's own images, which may hold files of another
    user.
    """
    if image.partition(":")[0] in {BASE_REPOSITORY, REPOSITORY}:
        raise BadRequest(
            f"{image} is an image of Slipway itself.",
            code="image_not_allowed",
            fix="Name what it was built from.",
        )
    return image


def _require_permission(request: Request, user: User) -> None:
    if reason := _why_not(request, user):
        raise sandbox_specs_not_allowed(reason)


def _why_not(request: Request, user: User) -> str | None:
    return why_not(request.state.config, request.state.sandboxes.describe(), user.role)


async def _settings(request: Request, session: AsyncSession, user: User) -> SandboxSpecSettings:
    choices = await service.choices(session, user.id)
    of_all = choices.pop(ALL_REPOSITORIES, None)
    reason = _why_not(request, user)
    return SandboxSpecSettings(
        sandbox_spec_id=of_all.hex if of_all else DEFAULT,
        repositories=[
            RepositorySpec(repository=repository, sandbox_spec_id=spec_id.hex)
            for repository, spec_id in choices.items()
        ],
        may_choose=reason is None,
        reason=reason,
    )


async def _infos(request: Request, session: AsyncSession, user: User) -> list[SandboxSpecInfo]:
    config: Config = request.state.config
    backend = request.state.sandboxes.describe().backend
    own = await service.list_specs(session, user.id) if backend != "process" else []
    default = SandboxSpecInfo(
        id=DEFAULT,
        name=DEFAULT,
        # With remote hosts, each host has its own base image.
        base=(config.sandbox_image or config.sandbox_base_image) if backend == "docker" else None,
        working_dir=_working_dir(request),
        created_at=now(),
    )
    return [default, *(_info(request, spec) for spec in own)]


def _info(request: Request, spec: SandboxSpec) -> SandboxSpecInfo:
    return SandboxSpecInfo(
        id=spec.id.hex,
        name=spec.name,
        base=spec.base,
        origin=spec.origin,
        dockerfile=spec.dockerfile,
        ignored=spec.ignored,
        runtime_plugins=spec.runtime_plugins,
        working_dir=_working_dir(request),
        created_at=spec.created_at,
    )


def _working_dir(request: Request) -> str:
    return "project" if request.state.sandboxes.describe().backend == "process" else "/workspace/project"
