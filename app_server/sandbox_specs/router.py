"""Routes that list, create, choose and delete sandbox specs. A sandbox spec says from which image a sandbox
starts, and which plugins the sandbox offers.
"""

import asyncio
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import CurrentUser
from app_server.core.config import Config
from app_server.core.database import ReadSession, ServerDatabase, Session, now
from app_server.core.errors import Conflict, Forbidden, StartFailure
from app_server.core.pagination import Limit, PageId, page_of
from app_server.git.address import check_exists, parse_address
from app_server.git.local_repositories import refuse_foreign_path
from app_server.git.pinned_git import guard_for
from app_server.levels.items import LevelItem
from app_server.levels.models import Level
from app_server.sandbox_records.given_specs import GivenSpec
from app_server.sandbox_records.models import SandboxSpec
from app_server.sandbox_specs import service
from app_server.sandbox_specs.files import PackedSpec, foreign_image, pack_named, pack_repository
from app_server.sandbox_specs.in_effect import specs_for
from app_server.sandbox_specs.permission import SpecPermission, permission_of, sandbox_specs_not_allowed
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
    """Returns one page of the sandbox specs (image and plugins of sandboxes) that the user can see, sorted by
    name. These are the user's own specs, and the specs of the organisation and of the user's teams that the
    user can choose. A spec of the organisation or a team is left out if another spec with the same name
    applies in its place. The first spec of the first page is always the spec in the server's configuration,
    with the id `default`.
    """
    items, next_page_id = page_of(await _infos(request, session, user), page_id, limit)
    return SandboxSpecPage(items=items, next_page_id=next_page_id)


@router.get("")
async def get_sandbox_specs(
    user: CurrentUser,
    session: ReadSession,
    request: Request,
    ids: Annotated[list[str], Query(alias="id", min_length=1, max_length=100)],
) -> list[SandboxSpecInfo | None]:
    """Returns the sandbox specs (image and plugins of sandboxes) with these ids, in the given order. The list
    contains null for an id that does not exist.
    """
    found = {info.id: info for info in await _infos(request, session, user)}
    return [found.get(spec_id) for spec_id in ids]


@router.post("", status_code=201, responses=_REFUSALS)
async def create_sandbox_spec(
    user: CurrentUser, body: CreateSandboxSpec, database: ServerDatabase, request: Request
) -> SandboxSpecInfo:
    """Saves and returns a new sandbox spec (image and plugins of sandboxes) of the user, made from an image,
    a Dockerfile or a repository. The image is not built now but when the first sandbox starts from the spec.

    Status 409 `repository_base_changed`: the files in the repository have changed since the user looked at
    their preview, so the image name that is computed from them differs from `base`.
    """
    _require_permission(request, user)
    new = await _new(request, user, body)
    async with database.session() as session:
        return _info(request, await service.create(session, user.id, new, body.runtime_plugins))


@router.post("/from-repository", responses=_REFUSALS)
async def look_at_repository(user: CurrentUser, body: FromRepository, request: Request) -> RepositoryBase:
    """Returns a preview of the base image that the devcontainer.json or the Dockerfile of a repository
    describes. The app server reads the repository, but builds and runs nothing.
    """
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
    """Deletes a sandbox spec (image and plugins of sandboxes) of the user, and the user's choices of this
    spec. Existing sandboxes that started from the spec continue to use their image. For new sandboxes, the
    user's other choices or the default spec apply.
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
    """Chooses the sandbox spec (image and plugins of the sandbox) for new conversations, either about one
    repository or about all repositories, and returns the user's settings. Existing conversations do not
    change.

    Status 422 `repository_not_found`: `repository` is not the address of a repository.
    """
    repository = ALL_REPOSITORIES
    if body.repository:
        known = await service.choices(session, user.id)
        given = body.repository
        repository = given if given in known else parse_address(given, body.git_provider).identity
    await service.choose(session, user.id, repository, body.sandbox_spec_id, _permission(request, user))
    return await _settings(request, session, user)


async def _new(request: Request, user: User, body: CreateSandboxSpec) -> NewSpec:
    if body.repository is None:
        named = await pack_named(body.image, body.dockerfile)
        return NewSpec(body.name, named.base, named if named.build else None)
    packed = await _pack(request, user, body.repository)
    if packed.base != body.base:
        raise Conflict(
            "The repository has changed since it was looked at.",
            code="repository_base_changed",
            fix="Look at it again.",
        )
    return NewSpec(body.name, packed.base, packed)


async def _pack(request: Request, user: User, given: FromRepository) -> PackedSpec:
    address = parse_address(given.selected_repository, given.git_provider)
    try:
        refuse_foreign_path(address, request.state.config.home, administers=user.administers_installation)
    except StartFailure as failure:
        raise Forbidden(failure.cause, code=failure.code, fix=failure.fix) from failure
    await asyncio.to_thread(check_exists, address)
    credentials = await request.state.git_tokens.credentials(user.id, address)
    guard = guard_for(request.state.config, administers=user.administers_installation)
    packed = await pack_repository(address, given.selected_branch, given.path, credentials, guard)
    if packed.build is None:
        foreign_image(packed.base)
    return packed


def _require_permission(request: Request, user: User) -> None:
    if reason := _permission(request, user).why_not_own:
        raise sandbox_specs_not_allowed(reason)


def _permission(request: Request, user: User) -> SpecPermission:
    return permission_of(
        request.state.config, request.state.sandboxes.describe(), administers=user.administers_installation
    )


async def _settings(request: Request, session: AsyncSession, user: User) -> SandboxSpecSettings:
    permission = _permission(request, user)
    specs = await specs_for(session, user.id)
    enforced = specs.enforced and specs.default
    of_all = await service.chosen(session, user.id, None, None, permission)
    choices = await service.choices(session, user.id)
    stored = choices.pop(ALL_REPOSITORIES, of_all.id.hex if of_all else DEFAULT)
    return SandboxSpecSettings(
        sandbox_spec_id=of_all.id.hex if of_all and enforced else stored,
        repositories=[
            RepositorySpec(repository=repository, sandbox_spec_id=spec_id)
            for repository, spec_id in choices.items()
        ],
        may_choose=permission.why_not_own is None,
        reason=permission.why_not_own,
        enforced_by=enforced.level if enforced else None,
        team_name=enforced.team_name if enforced else None,
    )


async def _infos(request: Request, session: AsyncSession, user: User) -> list[SandboxSpecInfo]:
    config: Config = request.state.config
    backend = request.state.sandboxes.describe().backend
    default = SandboxSpecInfo(
        id=DEFAULT,
        name=DEFAULT,
        # With remote hosts, each host has its own base image.
        base=(config.sandbox_image or config.sandbox_base_image) if backend == "docker" else None,
        working_dir=_working_dir(request),
        created_at=now(),
    )
    if backend == "process":
        return [default]
    own = [_info(request, spec) for spec in await service.list_specs(session, user.id)]
    if _permission(request, user).why_none:
        return [default, *own]
    in_effect = (await specs_for(session, user.id)).by_name.values()
    given = [_given_info(request, spec.item) for spec in in_effect if spec.item is not None]
    return [default, *sorted([*own, *given], key=lambda spec: (spec.name, spec.level))]


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
        level=Level.USER,
    )


def _given_info(request: Request, item: LevelItem) -> SandboxSpecInfo:
    spec = GivenSpec.of(item)
    return SandboxSpecInfo(
        id=item.id.hex,
        name=item.name,
        base=spec.base,
        dockerfile=spec.dockerfile,
        runtime_plugins=spec.runtime_plugins,
        working_dir=_working_dir(request),
        created_at=item.updated_at,
        level=item.level_value.level,
        team_name=item.level_value.team_name,
    )


def _working_dir(request: Request) -> str:
    return "project" if request.state.sandboxes.describe().backend == "process" else "/workspace/project"
