"""Writes a comment at the git host when a trigger cannot start a conversation. The comment explains the
reason.
"""

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
"""Errors after which another attempt may succeed."""


async def tell_of_refusal(client: GitHostClient, trigger: Trigger, event: HostEvent, error: AppError) -> None:
    """Writes a comment on the issue or pull request that explains why no conversation starts. If the trigger
    fails again for the same issue or pull request, the same comment is edited. Does nothing for a push,
    because there is nothing to comment on. Does nothing if another attempt follows.
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
