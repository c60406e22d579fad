"""Adds to a start request what the user has left out: the first message, the repository, the clone settings
and the sandbox spec (the image and settings of new sandboxes). Also checks the repositories of the request.
"""

import asyncio
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.events.content import TextContent
from app_server.conversations.message_schemas import MAX_CONTENT_PARTS, SendMessageRequest
from app_server.conversations.models import Conversation
from app_server.conversations.protocol_schemas import PluginSpec
from app_server.conversations.repositories.more_repositories import (
    AnotherRepository,
    KeptRepository,
    with_directories,
)
from app_server.conversations.repositories.work_directory import checked_directory
from app_server.conversations.schemas import StartRequest
from app_server.conversations.start.suggested_task import message_of, repository_of
from app_server.core.errors import BadRequest, Forbidden, NotFound, StartFailure
from app_server.git.address import Address, check_exists, parse_address
from app_server.git.local_repositories import refuse_foreign_path
from app_server.levels.models import SettingName
from app_server.levels.service import require_allowed, value_for
from app_server.sandbox_records.models import Archive, ArchiveKind
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.in_effect import specs_for
from app_server.sandbox_specs.permission import SpecPermission
from app_server.settings.cloning import DEFAULT_MODE, FETCHES_SUBMODULES, CloneMode
from app_server.users.models import User


def with_task(request: StartRequest) -> StartRequest:
    """Returns a copy of the start request for the suggested task in the request (such as an open issue). The
    copy has the task's repository, and a first message that describes the task. A request without a suggested
    task is returned unchanged.

    Raises BadRequest `two_messages` if the request also has a first message or a repository. Raises
    BadRequest `git_host_missing` if the task needs a git host and names no host.
    """
    task = request.suggested_task
    if task is None:
        return request
    if request.initial_message is not None or request.selected_repository is not None:
        raise BadRequest(
            "A suggested task sets the first message and the repository.",
            code="two_messages",
            fix="Leave out initial_message and selected_repository, or suggested_task.",
        )
    repository = repository_of(task)
    if repository is None:
        raise BadRequest(f"{task.git_provider} needs a host.", code="git_host_missing")
    message = SendMessageRequest(content=[TextContent(text=message_of(task))])
    named = {"selected_repository": repository, "git_provider": task.git_provider}
    of_task = {"initial_message": message, "trigger": request.trigger or "suggested_task", **named}
    return request.model_copy(update=of_task)


def with_parameters(request: StartRequest) -> StartRequest:
    """Returns a copy of the start request in which the first message also contains the parameters of the
    request's plugins, because the agent reads the parameters there. If the request has no first message, the
    parameters become the first message.

    Raises BadRequest `message_has_too_many_parts` if the message then has too many parts.
    """
    given = [plugin for plugin in request.plugins or () if plugin.parameters]
    if not given:
        return request
    text = "\n\n".join(_parameters_of(plugin) for plugin in given)
    message = request.initial_message
    content = [*(message.content if message else ()), TextContent(text=text)]
    if len(content) > MAX_CONTENT_PARTS:
        raise BadRequest(
            "The parameters of plugins become a part of the first message, which has too many parts.",
            code="message_has_too_many_parts",
            fix=f"Send at most {MAX_CONTENT_PARTS - 1} parts.",
        )
    given_message = message or SendMessageRequest(content=content)
    extended_message = given_message.model_copy(update={"content": content})
    return request.model_copy(update={"initial_message": extended_message})


def _parameters_of(plugin: PluginSpec) -> str:
    plugin_location = f"{plugin.source}/{plugin.repo_path}" if plugin.repo_path else plugin.source
    values = [
        f"- {name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in (plugin.parameters or {}).items()
    ]
    return "\n".join((f"Parameters of the plugin {plugin_location}:", *values))


async def with_origin(session: AsyncSession, user: User, request: StartRequest) -> StartRequest:
    """Returns a copy of the start request with the repositories of the conversation from which the snapshot
    in the request was made. A snapshot is the saved files of a conversation. The copy also has the branch and
    the git provider of this conversation. It has the working folder of this conversation if the request names
    no folder.

    The request is returned unchanged if it names no snapshot, or if that conversation has no repository.

    Raises BadRequest `two_origins` if the request names both a snapshot and a repository. Raises NotFound
    `snapshot_not_found` if the user has no such snapshot.
    """
    if request.snapshot_id is None:
        return request
    if request.selected_repository is not None or request.more_repositories:
        raise BadRequest(
            "A conversation begins from a snapshot or from a repository, not from both.",
            code="two_origins",
            fix="Leave out selected_repository: the snapshot sets it.",
        )
    snapshot = await session.get(Archive, request.snapshot_id)
    if snapshot is None or snapshot.user_id != user.id or snapshot.kind != ArchiveKind.SNAPSHOT:
        raise NotFound("No such snapshot.", code="snapshot_not_found")
    origin = await session.get_one(Conversation, snapshot.conversation_id)
    found = origin.chosen_repository
    if not found:
        return request
    directory = request.selected_directory or origin.selected_directory
    more = [
        AnotherRepository.model_validate(
            {name: getattr(one, name) for name in AnotherRepository.model_fields}
        )
        for one in KeptRepository.all_of(origin.more_repositories)
    ]
    return request.model_copy(update={**found, "selected_directory": directory, "more_repositories": more})


async def with_clone_settings(session: AsyncSession, user: User, request: StartRequest) -> StartRequest:
    """Returns a copy of the start request with a clone mode (how much of the history git fetches) and a
    setting for submodules. If the request does not contain these values, they are taken from the user's
    present settings. A request that begins from a snapshot gets no clone mode, because the files of the
    snapshot already have a history.

    Raises Forbidden `setting_enforced` if an enforced setting of the organisation or of a team forbids a
    value in the request.
    """
    mode, wanted = SettingName.CLONE, request.clone and request.clone.value
    clone = (
        None if request.snapshot_id else CloneMode(await _allowed(session, user, mode, wanted, DEFAULT_MODE))
    )
    submodules = await _allowed(session, user, SettingName.SUBMODULES, request.submodules, FETCHES_SUBMODULES)
    return request.model_copy(update={"clone": clone, "submodules": submodules})


async def _allowed(session: AsyncSession, user: User, name: SettingName, wanted: Any, default: Any) -> Any:
    """Returns the value of the setting `name` for the new conversation. `wanted`: the value in the request,
    which is returned if it is not None. Otherwise the value in the user's settings is returned, or `default`
    if the settings have no value. Raises Forbidden `setting_enforced` if an enforced setting of the
    organisation or of a team forbids `wanted`.
    """
    if wanted is not None:
        await require_allowed(session, user.id, name, wanted)
        return wanted
    value = await value_for(session, user.id, name)
    return default if value is None else value.value


def with_directory(request: StartRequest) -> StartRequest:
    """Returns a copy of the start request in which the path of the agent's working folder is normalised
    (without `.` and double slashes).

    Raises BadRequest `branch_without_repository` if the request names a branch but no repository. Raises
    BadRequest `directory_without_repository` if it names a folder but no repository. Raises BadRequest
    `directory_outside_repository` if the folder is not in the repository.
    """
    if request.selected_branch is not None and request.selected_repository is None:
        raise BadRequest(
            "A branch needs a repository.",
            code="branch_without_repository",
            fix="Name the repository in selected_repository, or leave selected_branch out.",
        )
    directory = checked_directory(
        request.selected_directory, has_repository=request.selected_repository is not None
    )
    return request.model_copy(update={"selected_directory": directory})


async def with_spec(
    session: AsyncSession,
    user: User,
    request: StartRequest,
    address: Address | None,
    permission: SpecPermission,
) -> StartRequest:
    """Returns a copy of the start request with a sandbox spec (the image and settings of new sandboxes). If
    the request names no spec, the spec comes from the user's present settings. These may have a separate spec
    for the repository at `address`.

    `address`: None if the request has no repository. `permission`: which specs the user may choose.

    If the request begins from a snapshot and names no spec, it is normally returned unchanged. The new
    sandbox then has the image of the snapshot. In two cases such a request gets a spec nevertheless: if the
    user's organisation or team enforces a spec, or if the user may not choose personal specs
    (`permission.why_not_own`).

    Raises NotFound `sandbox_spec_not_found` if the spec does not exist. Raises Forbidden
    `sandbox_specs_not_allowed` if the request names a spec that the user may not choose. Raises Forbidden
    `setting_enforced` if another spec is enforced.
    """
    given = request.sandbox_spec_id
    may_keep = given is None and request.snapshot_id is not None and permission.why_not_own is None
    if may_keep and (await specs_for(session, user.id)).enforced is None:
        return request  # the files go on in the image they were made in
    identity = address.identity if address else None
    spec = await sandbox_specs.chosen(session, user.id, given, identity, permission)
    spec_id = spec.id.hex if spec else sandbox_specs.DEFAULT
    return request.model_copy(update={"sandbox_spec_id": spec_id})


async def checked_address(request: StartRequest, user: User, home: Path) -> Address | None:
    """Checks the first repository of the start request and returns the repository's address. Returns None if
    the request has no repository. `home`: the data directory of the server.

    Raises InvalidRepository if the address is not valid or the repository does not exist on the server's
    machine. Raises Forbidden `repository_not_allowed` if the user may not use the repository.
    """
    if request.selected_repository is None:
        return None
    return await checked(parse_address(request.selected_repository, request.git_provider), user, home)


async def checked_more(
    request: StartRequest, first: Address | None, user: User, home: Path
) -> list[KeptRepository]:
    """Checks the repositories that the start request names in addition to the first one. Returns a
    description of each, with the name of its directory in the sandbox.

    `first`: the address of the first repository; None if the request has no first repository. `home`: the
    data directory of the server. Raises InvalidRepository if an address is not valid or a repository does not
    exist on the server's machine. Raises Forbidden `repository_not_allowed` if the user may not use a
    repository. Raises BadRequest `more_without_first` if there is no first repository. Raises BadRequest
    `repository_has_password` if a URL contains a password. Raises BadRequest `repository_twice` if a
    repository is named twice.
    """
    given = request.more_repositories
    addresses = [parse_address(one.repository, one.git_provider) for one in given]
    repositories = with_directories(given, addresses, first)
    for address in addresses:
        await checked(address, user, home)
    return repositories


async def checked(address: Address, user: User, home: Path) -> Address:
    """Checks that the user may use the repository at this address, and returns the address unchanged. `home`:
    the data directory of the server.

    Raises InvalidRepository if the address names a repository on the server's machine that does not exist.
    Raises Forbidden `repository_not_allowed` if the user may not use the repository.
    """
    try:
        refuse_foreign_path(address, home, administers=user.administers_installation)
    except StartFailure as failure:
        raise Forbidden(failure.cause, code=failure.code, fix=failure.fix) from failure
    await asyncio.to_thread(check_exists, address)
    return address
