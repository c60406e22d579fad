"""Whether this server lives, and on what: for monitors, load balancers and sandboxes."""

import asyncio
import os
import resource
import shutil
import time
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy import text

from app_server.core.config import Config
from app_server.core.database import ReadSession

router = APIRouter(tags=["Status"])
inner_router = APIRouter(tags=["Status"])

_started = time.monotonic()


class Alive(BaseModel):
    status: Literal["ok"] = "ok"


class Memory(BaseModel):
    """Bytes; `percent` of the machine's memory."""

    rss: int
    percent: float


class Disk(BaseModel):
    """Bytes of the file system that the home directory lies on."""

    total: int
    used: int
    free: int
    percent: float


class Io(BaseModel):
    """Bytes read and written by this process so far."""

    read_bytes: int
    write_bytes: int


class Resources(BaseModel):
    cpu_percent: float
    memory: Memory
    disk: Disk
    io: Io


class ServerInfo(BaseModel):
    """`uptime` and `idle_time` in seconds."""

    uptime: float
    idle_time: float
    resources: Resources


@router.get("/alive")
@inner_router.get("/health")
async def get_alive() -> Alive:
    """The process answers."""
    return Alive()


@router.get("/health")
async def get_health() -> Literal["OK"]:
    """The process answers."""
    return "OK"


@router.get("/ready")
async def get_ready(session: ReadSession) -> Literal["OK"]:
    """The process answers, and so does its database."""
    await session.execute(text("SELECT 1"))
    return "OK"


@router.get("/server_info")
async def get_server_info(request: Request) -> ServerInfo:
    config: Config = request.state.config
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
