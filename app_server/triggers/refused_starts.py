"""Writes a comment at the git host if a trigger cannot start a conversation. The comment says why."""

import logging
from typing import Final
from uuid import uuid5

from app_server.core.errors import AppError, BadGateway, TooManyRequests, Unavailable
from app_server.git_hosts.own_comments import find_marked, mark
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import ItemKind
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from app_server.triggers.models import Trigger
from app_server.triggers.texts import quiet

logger = logging.getLogger(__name__)

PASSING: Final = (BadGateway, TooManyRequests, Unavailable)
"""The classes of temporary errors, after which a later attempt may succeed."""


async def tell_of_refusal(client: GitHostClient, trigger: Trigger, event: HostEvent, error: AppError) -> None:
    """Writes a comment on the event's issue or pull request that says why the trigger cannot start a
    conversation. If Slipway has already written a comment of this kind there, edits that comment. Errors of
    the git host are only logged.

    `error`: the reason why the trigger cannot start a conversation. If it is a temporary error, does nothing,
    because the start is tried again. Also does nothing for a push, because a push has no place for comments.
    """
    if isinstance(error, PASSING) or event.kind is EventKind.PUSHED or event.number is None:
        return
    kind = ItemKind.PULL_REQUEST if event.is_pull_request else ItemKind.ISSUE
    of = uuid5(trigger.id, f"{kind}:{event.number}")
    text = f"Slipway could not start: {quiet(error.detail)}\n\n{mark(of)}"
    try:
        known = await find_marked(client, trigger.repository, kind, event.number, of)
        if known is None:
            await client.add_comment(trigger.repository, kind, event.number, text)
        else:
            await client.edit_comment(trigger.repository, kind, event.number, known, text)
    except AppError as problem:
        # The list of deliveries has the reason, too.
        logger.info("the refusal cannot be told at the git host", extra={"reason": problem.detail})
