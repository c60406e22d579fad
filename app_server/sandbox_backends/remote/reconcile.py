"""Compares the sandboxes of a sandbox host (another machine that runs sandboxes) with the app server's
records when the host can be reached again. The sandboxes may have moved to other hosts while the host could
not be reached.
"""

import asyncio
import logging

from app_server.sandbox_backends.remote.host import Host
from app_server.sandbox_backends.remote.placements import Placements

logger = logging.getLogger(__name__)


async def welcome(host: Host, placements: Placements) -> None:
    """Makes the sandboxes of a host that can be reached again agree with the records in `placements`. Stops
    sandboxes that now belong to another host. Deletes sandboxes that users have deleted.

    A sandbox on the host may have no record, because the app server's records were lost. Then records that
    the sandbox is on this host, and stops it. It starts again when a conversation needs it.

    Must be called before the host's sandboxes can reach the app server. Removes workspaces only of deleted
    sandboxes. Raises StartFailure if the host does not answer or refuses a request.
    """
    states = await host.states()
    for sandbox_id, state in states.items():
        placement = placements.get(sandbox_id)
        if placement is None:
            # The sandbox belongs to a server whose home was lost. It is recorded again, and starts when a
            # conversation needs it.
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
