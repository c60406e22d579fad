"""Runs scripts of a repository inside the sandbox. A script runs only if its files are the same as when the
user allowed the script.
"""

import asyncio
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from agent_runtime.time_limits import time_limit
from agent_runtime.wire import ProjectExecutable
from app_server.agent_client.client import AgentClient
from app_server.conversations.start.repository import OUTPUT_CHARACTERS, Finished, must_run
from app_server.core.errors import AppError, StartFailure

_POLL_SECONDS = 0.25
_GRACE_SECONDS = 60

_HOOK = r"""#!/bin/bash
# Runs the hook that was here before, then the repository's own script, as long as it is what was allowed.
hooks="$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)"
if [ -x "$hooks/pre-commit.local" ]; then "$hooks/pre-commit.local" "$@" || exit; fi
cd ./@FOLDER@ || exit
if ! {unchanged}
then echo {changed} >&2; exit 0; fi
exec bash {path} "$@"
""".rstrip()

Report = Callable[[str], None]
"""A function that is called with the end of a script's output each time the script has printed more."""


@dataclass(frozen=True)
class ScriptRun:
    """A set-up script that is to be run, and the directory in the sandbox in which it runs.

    `repository`: the name of the repository, if the conversation has several repositories, else None. The
    name is written before the errors and the output of the script, so that the user sees which script they
    belong to.
    """

    directory: str
    script: ProjectExecutable
    repository: str | None = None


async def run_setup_scripts(
    client: AgentClient, runs: Sequence[ScriptRun], timeout_seconds: int, report: Report
) -> str:
    """Runs set-up scripts one after the other and returns the end of their output.

    `timeout_seconds`: the time limit for each script. `report`: a function that is called with the end of the
    output each time a script has printed more. Raises StartFailure `setup_script_failed` at the first script
    that fails; the later scripts are not run.
    """
    output = ""
    for run in runs:
        name = run.repository
        before = output if name is None else f"{output}== {name}: {run.script.path} ==\n"

        def show(own: str, before: str = before) -> None:
            report((before + own)[-OUTPUT_CHARACTERS:])

        try:
            finished = await run_setup_script(client, run.directory, run.script, timeout_seconds, show)
        except StartFailure as failure:
            if name is None:
                raise
            failure_output = (before + (failure.output or ""))[-OUTPUT_CHARACTERS:]
            cause = f"{name}: {failure.cause}"
            raise StartFailure(failure.code, cause, fix=failure.fix, output=failure_output) from failure
        output = (before + finished.output)[-OUTPUT_CHARACTERS:]
        if name is not None and not output.endswith("\n"):
            output += "\n"
    return output


async def run_setup_script(
    client: AgentClient, directory: str, script: ProjectExecutable, timeout_seconds: int, report: Report
) -> Finished:
    """Runs the set-up script with the command `source` in a separate bash, so that the script cannot change
    the environment of later commands. First checks that the script's files are the same as when the user
    allowed the script.

    `timeout_seconds`: the time limit. `report`: a function that is called with the end of the output each
    time the script has printed more. Raises StartFailure `setup_script_failed` if a file has changed, or if
    the script fails.
    """
    source = (
        f"exec 2>&1\nif ! {_unchanged(script)}\nthen echo {_changed(script)}; exit 1; fi\n"
        f". {shlex.quote(script.path)}"
    )
    # A separate shell: what the script sets or exits ends with it.
    command = f"bash -c {shlex.quote(source)}"
    finished = await _follow(client, command, directory, timeout_seconds, report)
    if finished.exit_code == 0:
        return finished
    if finished.exit_code == -1:
        cause = f"{script.path} took longer than {timeout_seconds} seconds and was ended."
    else:
        cause = f"{script.path} failed with exit code {finished.exit_code}."
    raise StartFailure(
        "setup_script_failed",
        cause,
        fix="Read the output, fix the script or install what it lacks (commit it), and retry: the "
        "repository is fetched again.",
        output=finished.output,
    )


async def install_git_hook(client: AgentClient, directory: str, script: ProjectExecutable) -> None:
    """Installs a Git hook that runs the script before each commit. If the script's files are changed later,
    the hook does not run the script and prints the reason.
    """
    hook = _HOOK.format(unchanged=_unchanged(script), changed=_changed(script), path=shlex.quote(script.path))
    await must_run(
        client,
        'hooks="$(git rev-parse --git-path hooks)"\n'
        'mkdir -p "$hooks"\n'
        f"new={shlex.quote(hook)}\n"
        # Git runs hooks at the root of the repository.
        'folder="$(printf %q "$(git rev-parse --show-prefix)")"\n'
        'new="${new//@FOLDER@/"${folder#\'\'}"}"\n'
        # An earlier hook of Slipway is replaced. A hook of the user is kept under another name.
        'if [ -e "$hooks/pre-commit" ] && ! grep -q "as long as it is what was allowed" "$hooks/pre-commit"\n'
        'then mv -f "$hooks/pre-commit" "$hooks/pre-commit.local"; fi\n'
        'echo "$new" > "$hooks/pre-commit"\n'
        'chmod +x "$hooks/pre-commit"',
        directory,
    )


def _unchanged(script: ProjectExecutable) -> str:
    """Returns a shell command that succeeds if all files of the script are the same as when the user allowed
    the script.
    """
    sums = "".join(f"{file.sha256}  {file.path}\n" for file in script.files)
    return f"sha256sum --check --status --strict <<'SLIPWAY_SUMS'\n{sums}SLIPWAY_SUMS"


def _changed(script: ProjectExecutable) -> str:
    return shlex.quote(f"{script.path}, or a script it names, has changed since it was allowed: not run.")


async def _follow(
    client: AgentClient, command: str, directory: str, timeout_seconds: int, report: Report
) -> Finished:
    # A killed server could not stop its command. The same command must not run twice at the same time.
    command_id = await client.find_running(command, cwd=directory)
    if command_id is None:
        command_id = await client.start_command(command, cwd=directory, timeout_seconds=timeout_seconds)
    try:
        async with time_limit(timeout_seconds + _GRACE_SECONDS):
            return await _ended(client, command_id, report)
    except BaseException:
        # The worker that continues this start begins the command again.
        with suppress(AppError):
            await client.stop_command(command_id)
        raise


async def _ended(client: AgentClient, command_id: UUID, report: Report) -> Finished:
    output, order = "", -1
    while True:
        for piece in await client.command_output(command_id, after_order=order):
            order = piece.order
            output = (output + (piece.stdout or "") + (piece.stderr or ""))[-OUTPUT_CHARACTERS:]
            if piece.exit_code is not None:
                return Finished(piece.exit_code, output)
            report(output)
        await asyncio.sleep(_POLL_SECONDS)
