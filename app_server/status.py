"""Routes for the health and the resource use of this server. Monitors, load balancers and sandboxes call
them.
"""

import asyncio
import os
import resource
import shutil
import time
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy import text

from app_server.core.database import ReadSession
from app_server.core.server_objects import ServerConfig

router = APIRouter(tags=["Status"])
inner_router = APIRouter(tags=["Status"])

_started = time.monotonic()


class Alive(BaseModel):
    status: Literal["ok"] = "ok"


class Memory(BaseModel):
    """The memory that this server process uses. `rss`: the memory in bytes. `percent`: this memory as a share
    of the machine's memory, in percent.
    """

    rss: int
    percent: float


class Disk(BaseModel):
    """The size and the use, in bytes, of the file system that contains the server's home directory.
    `percent`: the share that is in use.
    """

    total: int
    used: int
    free: int
    percent: float


class Io(BaseModel):
    """The number of bytes that this server process has read and written since its start."""

    read_bytes: int
    write_bytes: int


class Resources(BaseModel):
    cpu_percent: float
    memory: Memory
    disk: Disk
    io: Io


class ServerInfo(BaseModel):
    """The reply with the state of this server. `uptime`: the seconds since the start of the server.
    `idle_time`: always 0, because only agent servers report an idle time. `resources`: the resource use of
    the server.
    """

    uptime: float
    idle_time: float
    resources: Resources


@router.get("/alive")
@inner_router.get("/health")
async def get_alive() -> Alive:
    """Replies with status 200 as long as the server process runs. Does not check the database."""
    return Alive()


@router.get("/health")
async def get_health() -> Literal["OK"]:
    """Replies `OK` as long as the server process runs. Does not check the database."""
    return "OK"


@router.get("/ready")
async def get_ready(session: ReadSession) -> Literal["OK"]:
    """Replies `OK` if the server process runs and its database answers a query."""
    await session.execute(text("SELECT 1"))
    return "OK"


@router.get("/server_info")
async def get_server_info(config: ServerConfig) -> ServerInfo:
    uptime = time.monotonic() - _started
    resources = await asyncio.to_thread(_resources, config.home, uptime)
    return ServerInfo(uptime=uptime, idle_time=0.0, resources=resources)


def _resources(home: Path, uptime: float) -> Resources:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    disk = shutil.disk_usage(home)
    rss = _rss_bytes()
    return Resources(
        cpu_percent=100 * (usage.ru_utime + usage.ru_stime) / uptime,
        memory=Memory(rss=rss, percent=100 * rss / _memory_bytes()),
        disk=Disk(total=disk.total, used=disk.used, free=disk.free, percent=100 * disk.used / disk.total),
        io=Io(read_bytes=usage.ru_inblock * 512, write_bytes=usage.ru_oublock * 512),
    )


def _rss_bytes() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS tells the peak, in bytes


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
