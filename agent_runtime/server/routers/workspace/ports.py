"""Which ports of this sandbox can be reached."""

import asyncio

from agent_runtime.server.ports.listeners import find_ports
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import PortsResponse

router = Router(prefix="/api/ports", tags=["ports"])


@router.get("")
async def ports() -> PortsResponse:
    """Those on which processes of this sandbox listen at this moment, less this server's own."""
    return PortsResponse(ports=await asyncio.to_thread(find_ports))
