"""A sandbox host that came, or came back, is set right: what ran there meanwhile may run elsewhere now."""

import asyncio
import logging

from app_server.sandbox_backends.remote.host import Host
from app_server.sandbox_backends.remote.placements import Placements

logger = logging.getLogger(__name__)


async def welcome(host: Host, placements: Placements) -> None:
    """Before its sandboxes reach us. No workspace is removed but those whose user has deleted them.

    Raises StartFailure.
    """
    states = await host.states()
    for sandbox_id, state in states.items():
        placement = placements.get(sandbox_id)
        if placement is None:
            # Of a server whose home was lost: found again, and started by a conversation that wants it.
            logger.warning("an unknown sandbox is taken over", extra={"sandbox_id": sandbox_id.hex})
            await asyncio.to_thread(placements.put, sandbox_id, host.name)
        elif placement.is_deleted:
            await host.delete(sandbox_id)
            await asyncio.to_thread(placements.forget, sandbox_id, host.name)
            continue
        elif placement.host == host.name:
            continue
        if state != "stopped":
            logger.warning("a sandbox is ended that is not this host's", extra={"sandbox_id": sandbox_id.hex})
            await host.stop(sandbox_id)
    for sandbox_id in placements.deleted_on(host.name) - states.keys():
        await asyncio.to_thread(placements.forget, sandbox_id, host.name)
