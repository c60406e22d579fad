"""Routes with which the current user manages callbacks (actions that run for matching events of the user's
conversations) and sees for which events they have run.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.access.route_access import permission_missing, refuse_narrowed_key
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.callbacks import service
from app_server.callbacks.models import Callback
from app_server.callbacks.schemas import (
    AddCallback,
    CallbackInfo,
    CallbackWithSecret,
    ChangeCallback,
    DeliveryInfo,
    DeliveryState,
    RotateSecret,
)
from app_server.core.config import Config
from app_server.core.database import ReadSession, Session
from app_server.core.encryption import ServerCipher
from app_server.core.errors import Forbidden, NotFound
from app_server.core.mail.server import require_mail_server
from app_server.core.pagination import Limit, Page, PageId, encode_page_id, page_position

router = APIRouter(prefix="/api/v1/callbacks", tags=["Callbacks"])


@router.get("")
async def list_callbacks(user: CurrentUser, session: ReadSession, cipher: ServerCipher) -> list[CallbackInfo]:
    return [service.callback_info(cipher, each) for each in await service.callbacks_of(session, user.id)]


@router.post("", status_code=201)
async def add_callback(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    body: AddCallback,
    cipher: ServerCipher,
    request: Request,
) -> CallbackWithSecret:
    """Adds a callback of the user. The callback runs for events that happen from now on. The secret of a
    webhook is shown only in this reply.

    403 `permission_missing` if `is_for_everyone` is true and the user is not an administrator. 403
    `recipient_not_allowed` if the user may not send mail to the address in `email`. 409 `no_mail_server` for
    a callback of the kind `mail` if the server has no mail server. 404 if `conversation_id` is a conversation
    of another user. 409 `too_many_callbacks` if the user has the maximum number of callbacks.
    """
    user_id = principal.user.id
    if body.is_for_everyone and not principal.may(Permission.ADMINISTER):
        raise permission_missing(Permission.ADMINISTER)
    if body.conversation_id is not None:
        owner_id = await request.state.owner_of_conversation(session, body.conversation_id)
        if owner_id != user_id:
            raise NotFound("No such conversation.")
    if body.email is not None:
        _check_recipient(request.state.config, principal, body.email)
    callback, secret = await service.add(session, cipher, user_id, body)
    info = service.callback_info(cipher, callback)
    _record(trail, session, AuditAction.CALLBACK_CHANGED, info, change="added")
    return CallbackWithSecret(**dict(info), secret=secret)


@router.patch("/{callback_id}")
async def change_callback(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    callback_id: UUID,
    body: ChangeCallback,
    cipher: ServerCipher,
) -> CallbackInfo:
    """Changes fields of a callback and returns the callback.

    403 `permission_missing` if the callback runs for everyone and the API key lacks the scope `administer`.
    400 `no_url` if the request contains a URL and the callback is not of the kind `webhook` or `chat`. 400
    `no_instructions` if the request contains instructions and the callback is not of the kind `task`. 400
    `no_filter` if all filters of a callback of the kind `chat`, `mail`, `comment` or `task` would be empty.
    """
    callback = await _changeable(session, principal, callback_id)
    service.change(cipher, callback, body)
    info = service.callback_info(cipher, callback)
    fields = sorted(body.model_fields_set)
    _record(trail, session, AuditAction.CALLBACK_CHANGED, info, change="changed", fields=fields)
    return info


@router.delete("/{callback_id}", status_code=204)
async def delete_callback(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    callback_id: UUID,
    cipher: ServerCipher,
) -> None:
    """Deletes a callback and the stored deliveries of events for this callback. Deliveries that wait for
    their next attempt are cancelled. 403 `permission_missing` if the callback runs for everyone and the API
    key lacks the scope `administer`.
    """
    callback = await _changeable(session, principal, callback_id)
    info = service.callback_info(cipher, callback)
    _record(trail, session, AuditAction.CALLBACK_DELETED, info)
    await session.delete(callback)


@router.post("/{callback_id}/rotate-secret")
async def rotate_secret_of_callback(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    callback_id: UUID,
    body: RotateSecret,
    cipher: ServerCipher,
) -> CallbackWithSecret:
    """Gives a webhook a new secret, which is shown only in this reply. Messages are also signed with the
    previous secret until the time `previous_secret_until` in the reply. 400 `no_secret` if the callback is
    not a webhook. 403 `permission_missing` if the callback runs for everyone and the API key lacks the scope
    `administer`.
    """
    callback = await _changeable(session, principal, callback_id)
    secret = service.rotate(cipher, callback, timedelta(hours=body.keep_previous_hours))
    info = service.callback_info(cipher, callback)
    _record(trail, session, AuditAction.CALLBACK_CHANGED, info, change="secret rotated")
    return CallbackWithSecret(**dict(info), secret=secret)


@router.get("/{callback_id}/deliveries")
async def search_deliveries(
    user: CurrentUser,
    session: ReadSession,
    callback_id: UUID,
    state: DeliveryState | None = None,
    page_id: PageId = None,
    limit: Limit = 50,
) -> Page[DeliveryInfo]:
    """Returns one page of the deliveries of a callback, the newest first. Deliveries are stored for 30 days.
    `state`: only deliveries in this state; if left out, deliveries in all states. 400 `bad_page_id` if
    `page_id` is not valid.
    """
    callback = await service.callback_of(session, user.id, callback_id)
    before = None if page_id is None else page_position(page_id)
    found = await service.deliveries(session, callback, state=state, before=before, limit=limit + 1)
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    return Page(items=shown, next_page_id=last and encode_page_id(last.created_at.isoformat(), last.id.hex))


@router.post("/{callback_id}/deliveries/{delivery_id}/redeliver")
async def redeliver(
    principal: CurrentPrincipal, session: Session, callback_id: UUID, delivery_id: UUID
) -> DeliveryInfo:
    """Delivers the event of an earlier delivery again, with the same value of the header `webhook-id`. 409
    `delivery_waits` if the delivery has not ended yet. 409 `callback_disabled` if the callback is disabled.
    403 `permission_missing` if the callback runs for everyone and the API key lacks the scope `administer`.
    """
    callback = await _changeable(session, principal, callback_id)
    return await service.redeliver(session, callback, delivery_id)


async def _changeable(session: Session, principal: CurrentPrincipal, callback_id: UUID) -> Callback:
    """Returns a callback of the user that the request may change. Raises NotFound if the user has no such
    callback. Raises Forbidden `permission_missing` if the callback runs for everyone and the scopes of the
    API key leave out `administer`.
    """
    callback = await service.callback_of(session, principal.user.id, callback_id)
    if callback.is_for_everyone:
        refuse_narrowed_key(principal, Permission.ADMINISTER)
    return callback


def _check_recipient(config: Config, principal: CurrentPrincipal, email: str) -> None:
    server = require_mail_server(config.mail)
    if not principal.may(Permission.INSTALLATION) and not server.may_write_to(email):
        raise Forbidden(
            "Only administrators of the installation may write to this address.",
            code="recipient_not_allowed",
            fix="Ask an administrator to add the address or its domain to the recipients of SLIPWAY_MAIL.",
        )


def _record(
    trail: CurrentTrail, session: Session, action: AuditAction, info: CallbackInfo, **details: Any
) -> None:
    trail.record(session, action, (AuditTarget.CALLBACK, info.id), name=info.name, host=info.host, **details)
