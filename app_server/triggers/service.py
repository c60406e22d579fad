"""Stores, changes and lists triggers, and lists their webhook deliveries."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, Conflict, NotFound
from app_server.git.address import Address, parse_address
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import ConnectedHost, GitHosts
from app_server.git_hosts.repository_names import name_in
from app_server.git_hosts.schemas import HostRepository
from app_server.sandbox_specs import service as sandbox_specs
from app_server.settings.profile_lookup import choose_profile
from app_server.triggers.models import Trigger, TriggerDelivery, TriggerEvent
from app_server.triggers.schemas import (
    AddTrigger,
    ChangeTrigger,
    TriggerDeliveryInfo,
    TriggerFields,
    TriggerInfo,
)

ROOT = "/api/v1/git-webhooks"
"""The path to which git hosts send their webhook deliveries. The full path is this text, a slash and the id
of the trigger.
"""

MAX_TRIGGERS = 50


async def triggers_of(session: AsyncSession, user_id: UUID) -> Sequence[Trigger]:
    """Returns the user's triggers, oldest first."""
    query = select(Trigger).where(Trigger.user_id == user_id).order_by(Trigger.created_at, Trigger.id)
    return (await session.scalars(query)).all()


async def trigger_of(session: AsyncSession, user_id: UUID, trigger_id: UUID) -> Trigger:
    """Returns the trigger with this id. Raises NotFound `trigger_not_found` if there is no such trigger or it
    belongs to another user.
    """
    trigger = await session.get(Trigger, trigger_id)
    if trigger is None or trigger.user_id != user_id:
        raise NotFound("There is no such trigger.", code="trigger_not_found")
    return trigger


async def host_of(
    session: AsyncSession, hosts: GitHosts, repository: str
) -> tuple[Address, ConnectedHost, str]:
    """Finds the git host of a repository. Returns three values: the address of the repository, the git host
    with its API client, and the full name of the repository at this host, such as `owner/name`.

    `hosts`: the git hosts that the user's saved tokens give access to. `repository`: the URL of the
    repository. Raises InvalidRepository (422) if the URL is not valid. Raises BadRequest
    `repository_has_no_host` if the repository is not at a git host. Raises Forbidden `no_git_credential` if
    the user has no token for the host.
    """
    address = parse_address(repository)
    if address.origin is None or address.web_url is None:
        raise BadRequest(
            "A trigger needs a repository at a git host.",
            code="repository_has_no_host",
            fix="Give the repository's URL, as https://github.com/owner/name.",
        )
    host = await hosts.at(session, address.origin)
    path = address.web_url.removeprefix(address.origin).strip("/").removesuffix(".git")
    return address, host, name_in(host.provider, path)


async def add(
    session: AsyncSession,
    cipher: Cipher,
    user_id: UUID,
    wanted: AddTrigger,
    hosted_repository: tuple[Address, ConnectedHost, HostRepository],
) -> tuple[Trigger, str]:
    """Stores a new trigger of the user. Returns the trigger and its secret, not encrypted.

    `hosted_repository`: the address of the repository, its git host, and the git host's description of the
    repository. Raises Conflict `too_many_triggers` if the user already has 50 triggers.
    """
    count = await session.scalar(select(func.count()).select_from(Trigger).where(Trigger.user_id == user_id))
    if (count or 0) >= MAX_TRIGGERS:
        raise Conflict(f"There can be at most {MAX_TRIGGERS} triggers.", code="too_many_triggers")
    address, host, found = hosted_repository
    secret = _new_secret(host.provider)
    fields = wanted.model_dump(exclude={"repository"})
    trigger = Trigger(
        user_id=user_id,
        provider=host.provider,
        origin=host.origin,
        repository=found.full_name,
        clone_url=address.web_url or address.public_url,
        secret_encrypted=cipher.encrypt(secret),
        **{**fields, "events": sorted(set(wanted.events))},
    )
    session.add(trigger)
    await session.flush()
    return trigger, secret


async def check(session: AsyncSession, user_id: UUID, fields: TriggerFields) -> None:
    """Checks the settings of a trigger before they are stored. Raises BadRequest `instructions_needed` if the
    trigger uses pushes but has no instructions. Raises NotFound `llm_profile_not_found` if the model profile
    does not exist. Raises NotFound `sandbox_spec_not_found` if the sandbox spec (the image and settings for
    sandboxes) does not exist.
    """
    if TriggerEvent.PUSH in fields.events and not fields.instructions:
        raise BadRequest(
            "A push does not say what to do.",
            code="instructions_needed",
            fix="Send instructions, or leave out the event push.",
        )
    if fields.llm_profile is not None:
        await choose_profile(session, user_id, name=fields.llm_profile, model=None)
    if fields.sandbox_spec_id is not None:
        await sandbox_specs.require_spec(session, user_id, fields.sandbox_spec_id)


async def change(session: AsyncSession, trigger: Trigger, changes: ChangeTrigger) -> list[str]:
    """Changes the settings of a trigger. Returns the names of the settings whose values have changed.

    Raises BadRequest `instructions_needed` if the trigger uses pushes but has no instructions. Raises
    NotFound `llm_profile_not_found` if the model profile does not exist. Raises NotFound
    `sandbox_spec_not_found` if the sandbox spec (the image and settings for sandboxes) does not exist.
    """
    same = {name: getattr(trigger, name) for name in TriggerFields.model_fields}
    wanted = TriggerFields.model_validate({**same, **changes.model_dump(exclude_unset=True)})
    await check(session, trigger.user_id, wanted)
    values = {**wanted.model_dump(), "events": sorted(set(wanted.events))}
    different = [name for name, value in values.items() if value != same[name]]
    for name in different:
        setattr(trigger, name, values[name])
    return different


def rotate(cipher: Cipher, trigger: Trigger, keep_previous: timedelta) -> str:
    """Replaces the secret of a trigger by a new one and returns the new secret. `keep_previous`: for how long
    webhook deliveries that are signed with the previous secret are also accepted.
    """
    secret = _new_secret(trigger.provider)
    trigger.previous_secret_encrypted = trigger.secret_encrypted if keep_previous else None
    trigger.previous_secret_until = now() + keep_previous if keep_previous else None
    trigger.secret_encrypted = cipher.encrypt(secret)
    return secret


async def deliveries(
    session: AsyncSession, trigger_id: UUID, *, before: tuple[datetime, UUID] | None, limit: int
) -> list[TriggerDeliveryInfo]:
    """Returns one page of the trigger's webhook deliveries, newest first. before: the time and the id of the
    last delivery on the previous page; None means the first page.
    """
    query = select(TriggerDelivery).where(TriggerDelivery.trigger_id == trigger_id)
    if before is not None:
        moment, last_id = before
        is_older = and_(TriggerDelivery.created_at == moment, TriggerDelivery.id < last_id)
        query = query.where(or_(TriggerDelivery.created_at < moment, is_older))
    query = query.order_by(TriggerDelivery.created_at.desc(), TriggerDelivery.id.desc()).limit(limit)
    fields = TriggerDeliveryInfo.model_fields
    return [
        TriggerDeliveryInfo.model_validate({name: getattr(row, name) for name in fields})
        for row in await session.scalars(query)
    ]


def trigger_info(base_url: str, trigger: Trigger) -> TriggerInfo:
    same = {name: getattr(trigger, name) for name in TriggerInfo.model_fields if hasattr(trigger, name)}
    return TriggerInfo.model_validate(
        {
            **same,
            "git_provider": trigger.provider,
            "host": trigger.origin.removeprefix("https://"),
            "url": f"{base_url}{ROOT}/{trigger.id.hex}",
        }
    )


def _new_secret(provider: GitProvider) -> str:
    secret = secrets.token_urlsafe(32)
    # Azure DevOps does not sign; it sends a user name and a password.
    return f"slipway:{secret}" if provider is GitProvider.AZURE_DEVOPS else secret
