"""Helpers for tests of process sandboxes: their files, processes and pipes."""

import json
from pathlib import Path
from uuid import UUID

from app_server.core.errors import Conflict
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House


def folder_of(house: House, sandbox_id: UUID) -> Path:
    return house.config.home / "sandboxes" / sandbox_id.hex


def handle_of(house: House, sandbox_id: UUID) -> dict[str, int]:
    handle: dict[str, int] = json.loads((folder_of(house, sandbox_id) / "process.json").read_text())
    return handle


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def is_up(sandboxes: Sandboxes, sandbox_id: UUID) -> bool:
    try:
        sandboxes.client(sandbox_id)
    except Conflict:
        return False
    return True
