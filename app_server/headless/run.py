"""Runs one task from the command line: starts a conversation, follows it until it ends, and shows
the result.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import delete

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.headless.client import Client, RunFailed
from app_server.headless.outcome import HeadlessOutcome
from app_server.headless.printer import Printer, stage_seconds
from app_server.headless.server_process import server_of
from app_server.users.models import ApiKey
from app_server.users.service import find_owner
from app_server.users.tokens import API_KEY_PREFIX, new_api_key, token_hash

VERIFY_TIMEOUT_SECONDS = 300
REFUSAL = (
    "This run has no user who could allow it. Do it in another way, or leave it out and say so at the end."
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The settings of a headless run (a task that runs from the command line without a browser): what the
    agent has to do, and how.

    `profile`: the name of the model profile; None means the default profile. `sandbox`: the kind of the
    sandbox; None means the kind that the server uses. `verify_command`: a command that runs in the sandbox at
    the end and must exit with 0; None means no verification. `consent`: hashes of the repository's project
    executables (hooks, setup scripts, MCP servers …) that are allowed to run. `keep`: if False, the
    conversation is deleted at the end.
    """

    task: str
    repository: str | None
    branch: str | None = None
    profile: str | None = None
    sandbox: str | None = None
    verify_command: str | None = None
    consent: tuple[str, ...] = ()
    keep: bool = True


def run(where: Config | tuple[str, str], what: Run, printer: Printer) -> bool:
    """Runs the task and returns whether it succeeded. It succeeds if the agent has finished and the command
    `what.verify_command`, if there is one, has exited with 0.

    `where`: the server that runs the task. If it is the configuration of a Slipway home directory on this
    machine, a server of this directory is used, and is started if necessary. Otherwise `where` is the URL of
    a server and an API key. `what`: the task and its settings. `printer`: shows the progress and the result.

    Raises RunFailed if a call to the server fails, or if the home directory has no owner yet. Raises
    ServerDidNotStart if a server was started for the task but did not reply. Both errors have a message for
    the person at the terminal.
    """
    with _client_of(where, what) as client:
        sandbox_kind = client.web_client_config()["sandbox"]
        printer.note(f"Sandbox kind: {sandbox_kind['backend']}")
        if sandbox_kind["warning"]:
            printer.note(sandbox_kind["warning"])
        task = client.start(_start_request(what))
        conversation_id = task["id"]
        try:
            return _follow(client, conversation_id, what, printer, sandbox_kind["backend"])
        finally:
            if not what.keep and not client.delete(conversation_id):
                printer.note("Its sandbox could not be removed: the server's log says why.")


@contextmanager
def _client_of(where: Config | tuple[str, str], what: Run) -> Iterator[Client]:
    if isinstance(where, Config):
        with server_of(where.home, what.sandbox) as url, owner_client(where, url) as client:
            yield client
    else:
        client = Client(*where)
        try:
            yield client
        finally:
            client.close()


def _follow(client: Client, conversation_id: str, what: Run, printer: Printer, sandbox: str) -> bool:
    outcome = HeadlessOutcome()
    agent_started = time.monotonic()
    for frame in client.frames(conversation_id):
        printer.frame(frame)
        was_starting = outcome.events == 0
        outcome.take(frame)
        if outcome.asks:
            _refuse(client, conversation_id, outcome, printer)
        if was_starting and outcome.events:
            agent_started = time.monotonic()
        if outcome.has_ended:
            break
    agent_seconds = time.monotonic() - agent_started if outcome.events else 0.0
    verification = None
    if outcome.succeeded and what.verify_command:
        verification = _verify(client, conversation_id, what.verify_command)
        printer.note(f"\n$ {what.verify_command}\n{verification['output']}")
    not_run = client.not_allowed(conversation_id) if outcome.status != "start_failed" else []
    for one in not_run:
        printer.note(f"Not run: {one['kind']} {one['name']} ({one['path']}). {_how_to_allow(one)}")
    succeeded = outcome.succeeded and (verification is None or verification["state"] == "passed")
    summary = {
        "conversation_id": conversation_id,
        "succeeded": succeeded,
        "sandbox": sandbox,
        "events": client.events_count(conversation_id),
        "stage_seconds": stage_seconds(outcome.stages),
        "agent_seconds": round(agent_seconds, 3),
        "final_message": outcome.final_message,
        "verification": verification,
        "not_run": [{name: one[name] for name in ("kind", "path", "name", "hash")} for one in not_run],
        "diff": client.patch(conversation_id) if outcome.status != "start_failed" else "",
    }
    printer.end(outcome, summary)
    return succeeded


def _refuse(client: Client, conversation_id: str, outcome: HeadlessOutcome, printer: Printer) -> None:
    """Refuses the actions for which the agent asks confirmation, because in a run from the command line no
    user can confirm them. Without the refusal, the agent would wait forever. If the agent has asked too
    often, the run is marked as failed and no refusal is sent.
    """
    printer.note(f"Refused, because no user is there to allow it: {outcome.wanted}")
    action_ids = outcome.refuse()
    if not outcome.has_ended:
        client.refuse(conversation_id, action_ids, REFUSAL)


def _how_to_allow(executable: dict[str, Any]) -> str:
    if executable["problem"]:
        return f"It cannot be allowed. {executable['problem']}"
    return f"Look at it, then allow it with --consent {executable['hash']}"


def _verify(client: Client, conversation_id: str, command: str) -> dict[str, Any]:
    result = client.execute(conversation_id, command, timeout_seconds=VERIFY_TIMEOUT_SECONDS)
    output = f"{result['stdout'] or ''}{result['stderr'] or ''}".strip()
    passed = result["exit_code"] == 0
    return {"state": "passed" if passed else "failed", "exit_code": result["exit_code"], "output": output}


def _start_request(what: Run) -> dict[str, Any]:
    repository = what.repository
    if repository and "://" not in repository and Path(repository).exists():
        repository = str(Path(repository).resolve())
    request = {
        "initial_message": {"role": "user", "content": [{"type": "text", "text": what.task}], "run": True},
        "selected_repository": repository,
        "selected_branch": what.branch,
        "llm_profile": what.profile,
        "consent": list(what.consent),
        "ask_when_stuck": False,
        # There is no user to ask. Actions that need confirmation are refused.
        "confirmation_mode": "never",
    }
    return {name: value for name, value in request.items() if value is not None}


@contextmanager
def owner_client(config: Config, url: str) -> Iterator[Client]:
    """Yields an API client that calls the server as the owner of the installation. Creates an API key of the
    owner in the database for this client, and deletes the key at the end of the `with` block.

    The person at the terminal need not sign in. A person who can read Slipway's data directory may act as the
    owner.
    """
    key = asyncio.run(_make_api_key(config))
    client = Client(url, key)
    try:
        yield client
    finally:
        client.close()
        asyncio.run(_drop_api_key(config, key))


async def _make_api_key(config: Config) -> str:
    key = new_api_key()
    database = Database(config.resolved_database_url)
    try:
        async with database.session() as session:
            owner = await find_owner(session)
            if owner is None:
                raise RunFailed("This home has no owner yet: start the server once.")
            prefix = key[: len(API_KEY_PREFIX) + 4]
            session.add(ApiKey(user_id=owner.id, name="slipway run", prefix=prefix, key_hash=token_hash(key)))
    finally:
        await database.close()
    return key


async def _drop_api_key(config: Config, key: str) -> None:
    database = Database(config.resolved_database_url)
    try:
        async with database.session() as session:
            await session.execute(delete(ApiKey).where(ApiKey.key_hash == token_hash(key)))
    finally:
        await database.close()
