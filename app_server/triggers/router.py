"""Routes with which users manage their triggers and see the webhook deliveries of the git hosts."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.access.audit_trail import AuditTrail, CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.errors import Forbidden
from app_server.core.pagination import Limit, Page, PageId, encode_page_id, page_position
from app_server.git_hosts.routes import CurrentGitHosts
from app_server.triggers import service
from app_server.triggers.models import Trigger
from app_server.triggers.schemas import (
    AddTrigger,
    ChangeTrigger,
    RotateTriggerSecret,
    TriggerDeliveryInfo,
    TriggerInfo,
    TriggerWithSecret,
)

router = APIRouter(prefix="/api/v1/triggers", tags=["Triggers"])


@router.get("")
async def list_triggers(user: CurrentUser, session: ReadSession, request: Request) -> list[TriggerInfo]:
    base_url = request.state.config.base_url
    return [service.trigger_info(base_url, each) for each in await service.triggers_of(session, user.id)]


@router.post("", status_code=201)
async def add_trigger(
    user: CurrentUser, hosts: CurrentGitHosts, trail: CurrentTrail, body: AddTrigger, request: Request
) -> TriggerWithSecret:
    """Adds a trigger for a repository at a git host. The user's token for this git host must have write
    access to the repository. Afterwards, the user adds a webhook with the `url` and the `secret` of the reply
    at the git host. Only this reply shows the secret.

    Errors: 400 `instructions_needed` if the trigger uses pushes but has no instructions; 403
    `no_git_credential` if the user has no token for the git host; 403 `repository_not_writable` if the token
    has no write access; 404 `git_host_not_found` if the git host finds no such repository for this token; 404
    `llm_profile_not_found` if there is no such model profile; 404 `sandbox_spec_not_found` if there is no
    such sandbox spec; 409 `too_many_triggers` if the user has 50 triggers.
    """
    state = request.state
    async with state.database.read() as session:
        address, host, name = await service.host_of(session, hosts, body.repository)
        await service.check(session, user.id, body)
    found = await host.client.repository(name)
    if found.can_push is False:
        raise Forbidden(
            f"Your token may not push to {found.full_name}.",
            code="repository_not_writable",
            fix="Use a token of a user with write access.",
        )
    async with state.database.session() as session:
        trigger, secret = await service.add(session, state.cipher, user.id, body, (address, host, found))
        _record(trail, session, AuditAction.TRIGGER_CHANGED, trigger, change="added", events=trigger.events)
    return TriggerWithSecret(**dict(service.trigger_info(state.config.base_url, trigger)), secret=secret)


@router.patch("/{trigger_id}")
async def change_trigger(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    trigger_id: UUID,
    body: ChangeTrigger,
    request: Request,
) -> TriggerInfo:
    """Changes the settings of a trigger, such as its events, its label or its model profile. The new settings
    apply to all webhook deliveries that are handled from now on. Settings that the request leaves out do not
    change. The repository, the URL and the secret of the trigger do not change.

    Errors: 400 `instructions_needed` if the trigger uses pushes but has no instructions; 404
    `trigger_not_found` if the user has no such trigger; 404 `llm_profile_not_found` if there is no such model
    profile; 404 `sandbox_spec_not_found` if there is no such sandbox spec.
    """
    trigger = await service.trigger_of(session, user.id, trigger_id)
    if different := await service.change(session, trigger, body):
        _record(trail, session, AuditAction.TRIGGER_CHANGED, trigger, change="edited", fields=different)
    return service.trigger_info(request.state.config.base_url, trigger)


@router.delete("/{trigger_id}", status_code=204)
async def delete_trigger(user: CurrentUser, trail: CurrentTrail, session: Session, trigger_id: UUID) -> None:
    """Deletes a trigger and the list of its webhook deliveries. The conversations that the trigger has
    started are not deleted. Slipway no longer updates the comments at the git host that show the progress of
    these conversations.
    """
    trigger = await service.trigger_of(session, user.id, trigger_id)
    _record(trail, session, AuditAction.TRIGGER_DELETED, trigger)
    await session.delete(trigger)


@router.post("/{trigger_id}/rotate-secret")
async def rotate_secret_of_trigger(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    trigger_id: UUID,
    body: RotateTriggerSecret,
    request: Request,
) -> TriggerWithSecret:
    """Replaces the secret of a trigger by a new one. Only this reply shows the new secret. Until
    `previous_secret_until`, webhook deliveries that are signed with the previous secret are also accepted.
    """
    trigger = await service.trigger_of(session, user.id, trigger_id)
    secret = service.rotate(request.state.cipher, trigger, timedelta(hours=body.keep_previous_hours))
    _record(trail, session, AuditAction.TRIGGER_CHANGED, trigger, change="secret rotated")
    return TriggerWithSecret(
        **dict(service.trigger_info(request.state.config.base_url, trigger)), secret=secret
    )


@router.get("/{trigger_id}/deliveries")
async def search_trigger_deliveries(
    user: CurrentUser, session: ReadSession, trigger_id: UUID, page_id: PageId = None, limit: Limit = 50
) -> Page[TriggerDeliveryInfo]:
    """Returns the webhook deliveries that Slipway has accepted for a trigger, newest first. Deliveries are
    deleted after 30 days. Replies 400 `bad_page_id` if `page_id` is not valid.
    """
    trigger = await service.trigger_of(session, user.id, trigger_id)
    before = None if page_id is None else page_position(page_id)
    found = await service.deliveries(session, trigger.id, before=before, limit=limit + 1)
    items = found[:limit]
    last = items[-1] if len(found) > limit else None
    return Page(items=items, next_page_id=last and encode_page_id(last.created_at.isoformat(), last.id.hex))


def _record(trail: AuditTrail, session: Any, action: AuditAction, trigger: Trigger, **details: Any) -> None:
    host = trigger.origin.removeprefix("https://")
    trail.record(
        session,
        action,
        (AuditTarget.TRIGGER, trigger.id),
        repository=f"{host}/{trigger.repository}",
        **details,
    )
