"""The route that lists the ports of this sandbox on which programs listen."""

import asyncio

from agent_runtime.server.ports.listeners import find_ports
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import PortsResponse

router = Router(prefix="/api/ports", tags=["ports"])


@router.get("")
async def ports() -> PortsResponse:
    """Returns the ports on which programs of this sandbox listen now, except this server's own port."""
    return PortsResponse(ports=await asyncio.to_thread(find_ports))
