"""Checks of the command `slipway doctor` that concern the home directory of one app server (SLIPWAY_HOME, the
directory with its data): the ports of the app server, its database and its sandboxes.
"""

import asyncio
import json
import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import ConfigurationError
from app_server.core.migrations import is_current
from app_server.core.startup_failures import explained
from app_server.doctor.findings import Finding, failed, warned, well
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_records.models import Sandbox


def check_ports(config: Config, inner_addresses: list[str]) -> Finding:
    """Checks whether the ports that the app server needs are free, and returns the result. The result is also
    "ok" if an app server that uses the home directory of `config` already runs. Blocks the caller.

    `inner_addresses`: the addresses on which the app server accepts connections from sandboxes.
    """
    if _is_served(config.home):
        return well("ports", "A Slipway server of this home listens.")
    wanted = [("127.0.0.1", config.port, "SLIPWAY_PORT")]
    wanted += [(address, config.inner_port, "SLIPWAY_INNER_PORT") for address in inner_addresses]
    for address, port, variable in wanted:
        if not _can_listen(address, port):
            return failed(
                "ports",
                f"Port {port} on {address} is taken by another program.",
                f"End it, or choose another one: {variable}.",
                "inner_port_taken" if port == config.inner_port else None,
            )
    return well("ports", f"{config.port} and {config.inner_port} are free.")


async def check_database(config: Config) -> list[Finding]:
    """Checks whether the app server's database can be used, and returns one finding. For SQLite, also checks
    whether the file is intact (`PRAGMA quick_check`). Returns an empty list if the SQLite file does not exist
    yet.
    """
    if config.database_file and not await asyncio.to_thread(config.database_file.exists):
        return []
    damage = None
    try:
        with explained(config):
            if config.database_file:
                damage = await asyncio.to_thread(_damage, config.database_file)
            else:
                await _ask_for_revision(config)
    except ConfigurationError as error:
        return [failed("database", str(error), "Do that, then run this again.")]
    if damage:
        fix = "Restore it from a backup, or move it away to begin with an empty one."
        return [failed("database", f"The database {config.database_file} is damaged: {damage}.", fix)]
    return [well("database", "The database is intact." if config.database_file else "It answers.")]


def _damage(file: Path) -> str | None:
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return None if found is None or found[0] == "ok" else " ".join(str(found[0]).split())


async def _ask_for_revision(config: Config) -> None:
    database = Database(config.resolved_database_url)
    try:
        await is_current(database)
    finally:
        await database.close()


async def check_workspaces(config: Config, backend: str) -> list[Finding]:
    """Checks whether this app server can start all existing sandboxes, and returns the result. A sandbox that
    was created as a process can be started only if the app server now runs sandboxes as processes. A
    sandbox that was created as a container can be started only if the app server now runs them as
    containers. Conversations in sandboxes that cannot be started cannot continue.

    `backend`: the kind of sandboxes that the server now starts; "process" for processes. Returns an empty
    list if the SQLite file does not exist yet.
    """
    if config.database_file and not await asyncio.to_thread(config.database_file.exists):
        return []
    try:
        others = await _count_others(config, backend)
    except SQLAlchemyError:
        fix = "Repair the database first; or start Slipway, which brings an older one up to date."
        return [warned("workspaces", "The database cannot be read.", fix)]
    if not others:
        return [well("workspaces", "All lie in sandboxes of the kind that is used now.")]
    return [
        warned(
            "workspaces",
            f"{others} lie in sandboxes of another kind: their conversations cannot go on.",
            "Start Slipway with the SLIPWAY_SANDBOX that they were started with.",
            "sandbox_of_other_kind",
        )
    ]


async def _count_others(config: Config, backend: str) -> int:
    is_process = Sandbox.spec_id == PROCESS
    query = select(func.count()).select_from(Sandbox).where(~is_process if backend == PROCESS else is_process)
    database = Database(config.resolved_database_url)
    try:
        async with database.read() as session:
            return int(await session.scalar(query) or 0)
    finally:
        await database.close()


def _is_served(home: Path) -> bool:
    """Returns whether an app server that uses the home directory `home` runs. The file server.json in this
    directory contains the process id of the app server. The process is also checked, because the file stays
    if an app server is killed.
    """
    try:
        os.kill(int(json.loads((home / "server.json").read_text())["pid"]), 0)
    except PermissionError:
        return True  # another process's, and alive
    except (OSError, ValueError, KeyError):
        return False
    return True


def _can_listen(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen()
        except OSError:
            return False
    return True
